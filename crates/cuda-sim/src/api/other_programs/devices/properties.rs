//! Devices by their addresses, and properties that few programs ask for.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_char, c_int, c_uint};

use cuda_sys::{CUarray_format, CUdevice, CUexecAffinityType, CUresult};

use crate::api::Result;
use crate::api::arguments::Out;
use crate::device::machine;

/// Takes an address with or without its domain and its function.
pub(in crate::api) fn cuDeviceGetByPCIBusId(out: Out<CUdevice>, address: &str) -> Result {
    let wanted = pci_address(address).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    let machine = machine()?;
    let found = machine.devices.iter().position(|device| device.id.pci() == wanted);
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

/// Not supported: only Windows knows devices by such identifiers.
pub(in crate::api) fn cuDeviceGetLuid(
    _luid: Out<c_char>,
    _mask: Out<c_uint>,
    device: CUdevice,
) -> Result {
    machine()?.device(device)?;
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

/// A share of the multiprocessors can be had with the Multi-Process Service, which is not here.
pub(in crate::api) fn cuDeviceGetExecAffinitySupport(
    out: Out<c_int>,
    kind: CUexecAffinityType,
    device: CUdevice,
) -> Result {
    machine()?.device(device)?;
    if kind.0 >= CUexecAffinityType::CU_EXEC_AFFINITY_TYPE_MAX.0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    out.set(0);
    Ok(())
}

/// Textures cannot be made here; how large one could be is asked for all the same.
pub(in crate::api) fn cuDeviceGetTexture1DLinearMaxWidth(
    out: Out<usize>,
    format: CUarray_format,
    channels: c_uint,
    device: CUdevice,
) -> Result {
    const ELEMENTS: usize = 1 << 28;
    machine()?.device(device)?;
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
