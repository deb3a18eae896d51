//! Primary contexts: one per device, shared by all who retain it.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint};

use cuda_sys::{CUcontext, CUdevice};

use crate::api::Result;
use crate::api::arguments::{Out, handle};
use crate::device::{machine, primary};

pub(in crate::api) fn cuDevicePrimaryCtxRetain(out: Out<CUcontext>, device: CUdevice) -> Result {
    let machine = machine()?;
    out.set(handle(primary::retain(machine, machine.device(device)?)?.handle));
    Ok(())
}

pub(in crate::api) fn cuDevicePrimaryCtxGetState(
    device: CUdevice,
    flags: Out<c_uint>,
    active: Out<c_int>,
) -> Result {
    let machine = machine()?;
    let device = machine.device(device)?;
    flags.set(device.primary_flags());
    active.set(c_int::from(primary::is_active(machine, device)));
    Ok(())
}
