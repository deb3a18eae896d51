//! Devices.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_char, c_int, c_uint};

use cuda_sys::{
    CUarray_format, CUdevice, CUdevice_attribute, CUexecAffinityType, CUresult, CUuuid,
};

use super::Result;
use super::arguments::{Out, text, write_text};
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
    let value = attributes::attribute(platform.device(device)?.id, &platform.config, attribute);
    out.set(value.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?);
    Ok(())
}

pub(super) unsafe fn cuDeviceGetPCIBusId(
    address: *mut c_char,
    length: c_int,
    device: CUdevice,
) -> Result {
    let device = platform()?.device(device)?;
    let known = device.id.pci_text();
    let length = usize::try_from(length).unwrap_or(0);
    if length <= known.len() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    unsafe { write_text(address, length, &known) }
}

/// Takes an address with or without its domain and its function.
pub(super) unsafe fn cuDeviceGetByPCIBusId(
    device: *mut CUdevice,
    address: *const c_char,
) -> Result {
    // SAFETY: the caller's promise.
    let (out, address) = unsafe { (Out::new(device)?, text(address)?) };
    let wanted = pci_address(address).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    let platform = platform()?;
    let found = platform.devices.iter().position(|device| device.id.pci() == wanted);
    out.set(found.ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)? as CUdevice);
    Ok(())
}

/// Domain, bus and device in `0000:10:00.0`, `0000:10:00` or `10:00.0`, all hexadecimal.
fn pci_address(text: &str) -> Option<[u32; 3]> {
    let (place, function) = text.split_once('.').unwrap_or((text, "0"));
    let number = |digits: &str| u32::from_str_radix(digits, 16).ok();
    let mut numbers = place.split(':').map(number).collect::<Option<Vec<_>>>()?;
    if numbers.len() == 2 {
        numbers.insert(0, 0);
    }
    let address = numbers.try_into().ok()?;
    (number(function)? == 0).then_some(address)
}

/// Only Windows knows devices by these.
pub(super) unsafe fn cuDeviceGetLuid(
    luid: *mut c_char,
    mask: *mut c_uint,
    device: CUdevice,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { (Out::new(luid)?, Out::new(mask)?) };
    platform()?.device(device)?;
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

/// A share of the multiprocessors can be had with the Multi-Process Service, which is not here.
pub(super) unsafe fn cuDeviceGetExecAffinitySupport(
    supported: *mut c_int,
    kind: CUexecAffinityType,
    device: CUdevice,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(supported) }?;
    platform()?.device(device)?;
    if kind.0 >= CUexecAffinityType::CU_EXEC_AFFINITY_TYPE_MAX.0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    out.set(0);
    Ok(())
}

/// Textures cannot be made here; how large one could be is asked for all the same.
pub(super) unsafe fn cuDeviceGetTexture1DLinearMaxWidth(
    width: *mut usize,
    format: CUarray_format,
    channels: c_uint,
    device: CUdevice,
) -> Result {
    const ELEMENTS: usize = 1 << 28;
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(width) }?;
    platform()?.device(device)?;
    let formats = [
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16,
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32,
        CUarray_format::CU_AD_FORMAT_SIGNED_INT8,
        CUarray_format::CU_AD_FORMAT_SIGNED_INT16,
        CUarray_format::CU_AD_FORMAT_SIGNED_INT32,
        CUarray_format::CU_AD_FORMAT_HALF,
        CUarray_format::CU_AD_FORMAT_FLOAT,
    ];
    if !formats.contains(&format) || !matches!(channels, 1 | 2 | 4) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    out.set(ELEMENTS);
    Ok(())
}
