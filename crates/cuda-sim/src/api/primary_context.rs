//! Primary contexts: one per device, shared by all who retain it.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint};

use cuda_sys::{CUcontext, CUdevice};

use super::Result;
use super::arguments::{Out, handle};
use crate::device::platform;
use crate::device::settings::checked_flags;

pub(super) fn cuDevicePrimaryCtxRetain(out: Out<CUcontext>, device: CUdevice) -> Result {
    let platform = platform()?;
    out.set(handle(platform.device(device)?.retain_primary(platform)?.handle));
    Ok(())
}

pub(super) fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> Result {
    let platform = platform()?;
    platform.device(device)?.release_primary(platform)
}

pub(super) fn cuDevicePrimaryCtxGetState(
    device: CUdevice,
    flags: Out<c_uint>,
    active: Out<c_int>,
) -> Result {
    let platform = platform()?;
    let device = platform.device(device)?;
    flags.set(device.primary_flags());
    active.set(c_int::from(device.primary_is_active(platform)));
    Ok(())
}

pub(super) fn cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint) -> Result {
    let platform = platform()?;
    let device = platform.device(device)?;
    device.set_primary_flags(platform, checked_flags(flags)?);
    Ok(())
}

pub(super) fn cuDevicePrimaryCtxReset_v2(device: CUdevice) -> Result {
    let platform = platform()?;
    platform.device(device)?.reset_primary(platform);
    Ok(())
}
