//! Devices.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_char, c_int, c_uint};

use cuda_sys::{
    CUarray_format, CUdevice, CUdevice_attribute, CUexecAffinityType, CUresult, CUuuid,
};

use super::Result;
use super::arguments::{Count, Out, Room};
use crate::device::{attributes, platform};

pub(super) fn cuDeviceGet(out: Out<CUdevice>, ordinal: c_int) -> Result {
    platform()?.device(ordinal)?;
    out.set(ordinal);
    Ok(())
}

pub(super) fn cuDeviceGetCount(out: Out<c_int>) -> Result {
    out.set(c_int::try_from(platform()?.devices.len()).unwrap_or(c_int::MAX));
    Ok(())
}

pub(super) fn cuDeviceGetName(name: Room<c_char>, length: Count, device: CUdevice) -> Result {
    let device = platform()?.device(device)?;
    name.of(length).write_text(&device.id.name())
}

pub(super) fn cuDeviceGetUuid_v2(out: Out<CUuuid>, device: CUdevice) -> Result {
    let uuid = platform()?.device(device)?.id.uuid();
    out.set(CUuuid { bytes: uuid.map(|byte| byte as c_char) });
    Ok(())
}

pub(super) fn cuDeviceTotalMem_v2(out: Out<usize>, device: CUdevice) -> Result {
    let (_, total) = platform()?.device(device)?.memory.free_and_total();
    out.set(total as usize);
    Ok(())
}

pub(super) fn cuDeviceGetAttribute(
    out: Out<c_int>,
    attribute: CUdevice_attribute,
    device: CUdevice,
) -> Result {
    let platform = platform()?;
    let value = attributes::attribute(platform.device(device)?.id, &platform.config, attribute);
    out.set(value.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?);
    Ok(())
}

pub(super) fn cuDeviceGetPCIBusId(
    address: Room<c_char>,
    length: Count,
    device: CUdevice,
) -> Result {
    let device = platform()?.device(device)?;
    let known = device.id.pci_text();
    if length.get() <= known.len() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    address.of(length).write_text(&known)
}

/// Takes an address with or without its domain and its function.
pub(super) fn cuDeviceGetByPCIBusId(out: Out<CUdevice>, address: &str) -> Result {
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
pub(super) fn cuDeviceGetLuid(_luid: Out<c_char>, _mask: Out<c_uint>, device: CUdevice) -> Result {
    platform()?.device(device)?;
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

/// A share of the multiprocessors can be had with the Multi-Process Service, which is not here.
pub(super) fn cuDeviceGetExecAffinitySupport(
    out: Out<c_int>,
    kind: CUexecAffinityType,
    device: CUdevice,
) -> Result {
    platform()?.device(device)?;
    if kind.0 >= CUexecAffinityType::CU_EXEC_AFFINITY_TYPE_MAX.0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    out.set(0);
    Ok(())
}

/// Textures cannot be made here; how large one could be is asked for all the same.
pub(super) fn cuDeviceGetTexture1DLinearMaxWidth(
    out: Out<usize>,
    format: CUarray_format,
    channels: c_uint,
    device: CUdevice,
) -> Result {
    const ELEMENTS: usize = 1 << 28;
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
