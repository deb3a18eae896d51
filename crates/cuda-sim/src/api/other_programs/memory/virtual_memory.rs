//! What programs ask of mappings, and what they share with other processes.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_ulonglong, c_void};

use cuda_sys::{
    CUdeviceptr, CUmemAccess_flags as Flags, CUmemAllocationHandleType, CUmemAllocationProp,
    CUmemAllocationProp_st__bindgen_ty_1, CUmemAllocationType, CUmemGenericAllocationHandle,
    CUmemLocation, CUmemLocationType as Kind, CUresult,
};

use crate::api::Result;
use crate::api::arguments::{In, Out, number};
use crate::api::memory::virtual_memory::accessor;
use crate::device::Protection;
use crate::device::{MemoryLocation, machine};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(in crate::api) fn cuMemGetAccess(
    out: Out<c_ulonglong>,
    location: In<CUmemLocation>,
    pointer: CUdeviceptr,
) -> Result {
    let location = location.read();
    let machine = machine()?;
    let accessor = accessor(machine, location)?;
    let mapping = machine.virtual_memory.containing(pointer).ok_or(INVALID)?;
    let protection =
        accessor.map_or(mapping.host_protection(), |ordinal| mapping.device_protection(ordinal));
    out.set(c_ulonglong::from(access_flags(protection).0));
    Ok(())
}

pub(in crate::api) fn cuMemGetAllocationPropertiesFromHandle(
    out: Out<CUmemAllocationProp>,
    handle: CUmemGenericAllocationHandle,
) -> Result {
    let physical = machine()?.virtual_memory.physical(handle)?;
    let (kind, id) = match physical.place {
        MemoryLocation::Device(ordinal) => (Kind::CU_MEM_LOCATION_TYPE_DEVICE, ordinal as i32),
        MemoryLocation::Host => (Kind::CU_MEM_LOCATION_TYPE_HOST, 0),
        MemoryLocation::HostNode => (Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA, 0),
    };
    out.set(CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: CUmemLocation { type_: kind, id },
        win32HandleMetaData: std::ptr::null_mut(),
        // Memory is never compressed here, which is asked for as a hint.
        allocFlags: CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    });
    Ok(())
}

pub(in crate::api) fn cuMemRetainAllocationHandle(
    out: Out<CUmemGenericAllocationHandle>,
    address: *mut c_void,
) -> Result {
    out.set(machine()?.virtual_memory.retain(number(address))?);
    Ok(())
}

/// Refused: memory cannot be created for it either.
pub(in crate::api) fn cuMemExportToShareableHandle(
    shareable: *mut c_void,
    handle: CUmemGenericAllocationHandle,
    _kind: CUmemAllocationHandleType,
    flags: c_ulonglong,
) -> Result {
    machine()?.virtual_memory.physical(handle)?;
    if shareable.is_null() || flags != 0 {
        return Err(INVALID);
    }
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

/// Refused.
pub(in crate::api) fn cuMemImportFromShareableHandle(
    _handle: Out<CUmemGenericAllocationHandle>,
    _shareable: *mut c_void,
    _kind: CUmemAllocationHandleType,
) -> Result {
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

pub(in crate::api) fn access_flags(protection: Protection) -> Flags {
    match protection {
        Protection::None => Flags::CU_MEM_ACCESS_FLAGS_PROT_NONE,
        Protection::Read => Flags::CU_MEM_ACCESS_FLAGS_PROT_READ,
        Protection::ReadWrite => Flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    }
}
