//! Primary contexts: one per device, shared by all who retain it.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint};

use cuda_sys::{CUcontext, CUdevice};

use super::Result;
use super::arguments::{Out, handle};
use crate::device::platform;
use crate::device::settings::checked_flags;

pub(super) unsafe fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(context) }?;
    let platform = platform()?;
    out.set(handle(platform.device(device)?.retain_primary(platform)?.handle));
    Ok(())
}

pub(super) unsafe fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> Result {
    let platform = platform()?;
    platform.device(device)?.release_primary(platform)
}

pub(super) unsafe fn cuDevicePrimaryCtxGetState(
    device: CUdevice,
    flags: *mut c_uint,
    active: *mut c_int,
) -> Result {
    // SAFETY: the caller's promise.
    let (flags, active) = unsafe { (Out::new(flags)?, Out::new(active)?) };
    let platform = platform()?;
    let device = platform.device(device)?;
    flags.set(device.primary_flags());
    active.set(c_int::from(device.primary_is_active(platform)));
    Ok(())
}

pub(super) unsafe fn cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint) -> Result {
    let platform = platform()?;
    let device = platform.device(device)?;
    device.set_primary_flags(platform, checked_flags(flags)?);
    Ok(())
}

pub(super) unsafe fn cuDevicePrimaryCtxReset_v2(device: CUdevice) -> Result {
    let platform = platform()?;
    platform.device(device)?.reset_primary(platform);
    Ok(())
}
