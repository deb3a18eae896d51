//! Devices.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_char, c_int};

use cuda_sys::{CUdevice, CUdevice_attribute, CUresult, CUuuid};

use super::Result;
use super::arguments::{Out, write_text};
use crate::device::{attributes, platform};

pub(super) unsafe fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(device) }?;
    platform()?.device(ordinal)?;
    out.set(ordinal);
    Ok(())
}

pub(super) unsafe fn cuDeviceGetCount(count: *mut c_int) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(count) }?;
    out.set(c_int::try_from(platform()?.devices.len()).unwrap_or(c_int::MAX));
    Ok(())
}

pub(super) unsafe fn cuDeviceGetName(name: *mut c_char, length: c_int, device: CUdevice) -> Result {
    let device = platform()?.device(device)?;
    // SAFETY: the caller's promise.
    unsafe { write_text(name, usize::try_from(length).unwrap_or(0), &device.id.name()) }
}

pub(super) unsafe fn cuDeviceGetUuid_v2(uuid: *mut CUuuid, device: CUdevice) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(uuid) }?;
    let uuid = platform()?.device(device)?.id.uuid();
    out.set(CUuuid { bytes: uuid.map(|byte| byte as c_char) });
    Ok(())
}

pub(super) unsafe fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(bytes) }?;
    let (_, total) = platform()?.device(device)?.memory.free_and_total();
    out.set(total as usize);
    Ok(())
}

pub(super) unsafe fn cuDeviceGetAttribute(
    value: *mut c_int,
    attribute: CUdevice_attribute,
    device: CUdevice,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(value) }?;
    let platform = platform()?;
    let capability = platform.config.capability;
    let value = attributes::attribute(platform.device(device)?.id, capability, attribute);
    out.set(value.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?);
    Ok(())
}

pub(super) unsafe fn cuDeviceGetPCIBusId(
    address: *mut c_char,
    length: c_int,
    device: CUdevice,
) -> Result {
    let device = platform()?.device(device)?;
    let text = device.id.pci_text();
    let length = usize::try_from(length).unwrap_or(0);
    if length <= text.len() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    unsafe { write_text(address, length, &text) }
}
