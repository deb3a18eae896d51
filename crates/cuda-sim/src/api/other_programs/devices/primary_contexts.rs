//! Primary contexts, released, reset, and given flags.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;

use cuda_sys::CUdevice;

use crate::api::Result;
use crate::device::settings::checked_flags;
use crate::device::{machine, primary};

pub(in crate::api) fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> Result {
    let machine = machine()?;
    primary::release(machine, machine.device(device)?)
}

pub(in crate::api) fn cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint) -> Result {
    let machine = machine()?;
    let device = machine.device(device)?;
    primary::set_flags(machine, device, checked_flags(flags)?);
    Ok(())
}

pub(in crate::api) fn cuDevicePrimaryCtxReset_v2(device: CUdevice) -> Result {
    let machine = machine()?;
    primary::reset(machine, machine.device(device)?);
    Ok(())
}
