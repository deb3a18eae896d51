//! Primary contexts, released, reset, and given flags.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;

use cuda_sys::CUdevice;

use crate::api::Result;
use crate::device::platform;
use crate::device::settings::checked_flags;

pub(in crate::api) fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> Result {
    let platform = platform()?;
    platform.device(device)?.release_primary(platform)
}

pub(in crate::api) fn cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint) -> Result {
    let platform = platform()?;
    let device = platform.device(device)?;
    device.set_primary_flags(platform, checked_flags(flags)?);
    Ok(())
}

pub(in crate::api) fn cuDevicePrimaryCtxReset_v2(device: CUdevice) -> Result {
    let platform = platform()?;
    platform.device(device)?.reset_primary(platform);
    Ok(())
}
