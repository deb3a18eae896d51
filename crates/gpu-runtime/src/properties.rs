//! What a device is: name, size, limits.

use std::ffi::{CStr, c_char, c_int};

use cuda_sys::{CUdevice_attribute as Attribute, CUresult, CUuuid};

use crate::check;
use crate::device_state::DeviceState;
use crate::error::Result;

/// What a device is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Properties {
    /// The product's name.
    pub name: String,
    /// The device's own identity, the same in every process and whatever devices are hidden.
    pub uuid: [u8; 16],
    /// Where the device is on the PCI bus, as `domain:bus:device.function`.
    pub pci_bus_id: String,
    /// The compute capability, as (major, minor).
    pub compute_capability: (u32, u32),
    /// Memory, in bytes.
    pub total_memory: usize,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Threads that run in lockstep.
    pub warp_size: u32,
    /// The most threads of a block.
    pub max_threads_per_block: u32,
    /// The most threads of a block in each dimension.
    pub max_block: [u32; 3],
    /// The most blocks of a grid in each dimension.
    pub max_grid: [u32; 3],
    /// The most threads on one multiprocessor.
    pub max_threads_per_multiprocessor: u32,
    /// Shared memory of a block that every kernel may use, in bytes.
    pub shared_bytes_per_block: u32,
    /// Shared memory of a block that a kernel may ask for
    /// ([`Function::allow_shared_bytes`](crate::Function::allow_shared_bytes)), in bytes.
    pub max_shared_bytes_per_block: u32,
    /// Second-level cache, in bytes.
    pub l2_cache_bytes: u32,
}

/// The memory of a device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryInfo {
    /// What could be allocated if it were in one piece.
    pub free: usize,
    /// All there is.
    pub total: usize,
}

impl Properties {
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
            shared_bytes_per_block: get(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
            )?,
            max_shared_bytes_per_block: get(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            )?,
            l2_cache_bytes: get(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        })
    }
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
