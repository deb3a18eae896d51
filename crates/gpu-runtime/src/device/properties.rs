//! Asking the driver for a device's properties.

use std::ffi::{CStr, c_char, c_int};

use cuda_sys::{CUdevice_attribute as Attribute, CUresult, CUuuid};

use super::{DeviceState, check};
use crate::error::Result;
use crate::types::Properties;

/// The properties of a device. To ask creates no context.
pub(crate) fn of(state: &DeviceState) -> Result<Properties> {
    let get = |attribute| get(state, attribute);
    Ok(Properties {
        name: text(state, "cuDeviceGetName", |buffer, length| {
            // SAFETY: `buffer` has `length` writable bytes.
            unsafe { (state.driver.cuDeviceGetName)(buffer, length, state.raw) }
        })?,
        uuid: uuid(state)?,
        pci_bus_id: text(state, "cuDeviceGetPCIBusId", |buffer, length| {
            // SAFETY: `buffer` has `length` writable bytes.
            unsafe { (state.driver.cuDeviceGetPCIBusId)(buffer, length, state.raw) }
        })?,
        compute_capability: (
            get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        total_memory: total_memory(state)?,
        multiprocessors: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        warp_size: get(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
        max_threads_per_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_block: [
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
        ],
        max_grid: [
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
        ],
        max_threads_per_multiprocessor: get(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
        )?,
        shared_bytes_per_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        max_shared_bytes_per_block: get(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        )?,
        l2_cache_bytes: get(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
    })
}

/// A device's attribute, a number.
pub(crate) fn get(state: &DeviceState, attribute: Attribute) -> Result<u32> {
    let mut value: c_int = 0;
    // SAFETY: `value` is writable.
    let got = unsafe { (state.driver.cuDeviceGetAttribute)(&mut value, attribute, state.raw) };
    check::on_device(state, "cuDeviceGetAttribute", got)?;
    Ok(u32::try_from(value).unwrap_or(0))
}

fn total_memory(state: &DeviceState) -> Result<usize> {
    let mut bytes = 0;
    // SAFETY: `bytes` is writable.
    let got = unsafe { (state.driver.cuDeviceTotalMem_v2)(&mut bytes, state.raw) };
    check::on_device(state, "cuDeviceTotalMem_v2", got)?;
    Ok(bytes)
}

fn uuid(state: &DeviceState) -> Result<[u8; 16]> {
    let mut uuid = CUuuid { bytes: [0; 16] };
    // SAFETY: `uuid` is writable.
    let got = unsafe { (state.driver.cuDeviceGetUuid_v2)(&mut uuid, state.raw) };
    check::on_device(state, "cuDeviceGetUuid_v2", got)?;
    Ok(uuid.bytes.map(|byte| byte as u8))
}

fn text(
    state: &DeviceState,
    call: &'static str,
    fill: impl FnOnce(*mut c_char, c_int) -> CUresult,
) -> Result<String> {
    let mut buffer = [0u8; 256];
    check::on_device(state, call, fill(buffer.as_mut_ptr().cast(), buffer.len() as c_int))?;
    let text = CStr::from_bytes_until_nul(&buffer).unwrap_or_default();
    Ok(text.to_string_lossy().into_owned())
}
