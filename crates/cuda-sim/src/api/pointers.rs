//! What a pointer points to.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use cuda_sys::{CUcontext, CUdeviceptr, CUmemorytype, CUpointer_attribute as Attribute, CUresult};

use super::Result;
use super::arguments::{Out, handle};
use crate::device::{Location, Platform, current, platform};

/// What is known about memory, whichever kind it is.
struct Known {
    kind: CUmemorytype,
    start: u64,
    bytes: u64,
    owner: u64,
    ordinal: Option<u32>,
    id: u64,
}

pub(super) unsafe fn cuPointerGetAttribute(
    data: *mut c_void,
    attribute: Attribute,
    pointer: CUdeviceptr,
) -> Result {
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let platform = platform()?;
    current::current()?;
    let known = known(platform, pointer)?;
    let on_device = known.kind == CUmemorytype::CU_MEMORYTYPE_DEVICE;
    // SAFETY: the caller's promise: there is room for what the attribute's value is.
    unsafe {
        match attribute {
            Attribute::CU_POINTER_ATTRIBUTE_CONTEXT => {
                let context: CUcontext = handle(owner_handle(platform, known.owner));
                set(data, context)
            }
            Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE => set::<c_uint>(data, known.kind.0),
            Attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER => set::<CUdeviceptr>(data, pointer),
            Attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER if !on_device => {
                set::<*mut c_void>(data, handle(pointer))
            }
            Attribute::CU_POINTER_ATTRIBUTE_BUFFER_ID => set::<c_ulonglong>(data, known.id),
            Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => {
                // Host memory is as near to every device; it counts as the first one's.
                set::<c_int>(data, known.ordinal.unwrap_or(0) as c_int)
            }
            Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR
            | Attribute::CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR => {
                set::<CUdeviceptr>(data, known.start)
            }
            Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE
            | Attribute::CU_POINTER_ATTRIBUTE_MAPPING_SIZE => {
                set::<usize>(data, known.bytes as usize)
            }
            Attribute::CU_POINTER_ATTRIBUTE_MAPPED => set::<c_int>(data, 1),
            Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED
            | Attribute::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
            | Attribute::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
            | Attribute::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE => set::<c_int>(data, 0),
            Attribute::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES => set::<c_ulonglong>(data, 0),
            Attribute::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => set::<*mut c_void>(data, handle(0)),
            _ => Err(invalid),
        }
    }
}

fn known(platform: &Platform, pointer: CUdeviceptr) -> Result<Known> {
    match Location::of(platform, pointer, 1)? {
        Location::Device(allocation) => Ok(Known {
            kind: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            start: allocation.address,
            bytes: allocation.bytes,
            owner: allocation.owner,
            ordinal: Some(allocation.device.ordinal),
            id: allocation.id,
        }),
        Location::Pinned(host) => Ok(Known {
            kind: CUmemorytype::CU_MEMORYTYPE_HOST,
            start: host.address,
            bytes: host.bytes,
            owner: host.owner,
            ordinal: None,
            id: host.address,
        }),
        Location::Pageable => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
}

fn owner_handle(platform: &Platform, owner: u64) -> u64 {
    platform.contexts.find(|context| context.id == owner).map_or(0, |context| context.handle)
}

/// # Safety
/// `data` is null, or has room for a `T`.
unsafe fn set<T>(data: *mut c_void, value: T) -> Result {
    // SAFETY: the caller's promise.
    unsafe { Out::new(data.cast::<T>()) }?.set(value);
    Ok(())
}
