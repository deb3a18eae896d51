//! Virtual memory management: reserved addresses, physical memory, mappings and access.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_ulonglong, c_void};

use cuda_sys::{
    CUdeviceptr, CUmemAccess_flags as Flags, CUmemAccessDesc, CUmemAllocationGranularity_flags,
    CUmemAllocationHandleType, CUmemAllocationProp, CUmemAllocationProp_st__bindgen_ty_1,
    CUmemAllocationType, CUmemGenericAllocationHandle, CUmemLocation, CUmemLocationType as Kind,
    CUresult,
};

use super::Result;
use super::arguments::{Count, In, List, Out, number};
use crate::device::virtual_memory::{GRANULARITY, Protection};
use crate::device::{Device, Place, Platform, current, platform};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Reserves in the window of the current context's device, or of the first one: its kernels will
/// reach what is mapped there most quickly.
pub(super) fn cuMemAddressReserve(
    out: Out<CUdeviceptr>,
    bytes: usize,
    alignment: usize,
    hint: CUdeviceptr,
    flags: c_ulonglong,
) -> Result {
    /// The size of the host's pages.
    const PAGE: usize = 4096;
    let aligned = alignment == 0 || alignment.is_power_of_two();
    if bytes == 0 || !bytes.is_multiple_of(PAGE) || !aligned || flags != 0 {
        return Err(INVALID);
    }
    if !hint.is_multiple_of(PAGE as u64) {
        return Err(INVALID);
    }
    let platform = supporting()?;
    let device = match current::current() {
        Ok(context) => context.device,
        Err(_) => platform.device(0)?,
    };
    let memory = &platform.virtual_memory;
    out.set(memory.reserve(device, bytes as u64, alignment as u64, hint)?);
    Ok(())
}

pub(super) fn cuMemAddressFree(pointer: CUdeviceptr, bytes: usize) -> Result {
    let platform = platform()?;
    platform.virtual_memory.free(platform, pointer, bytes as u64)
}

pub(super) fn cuMemCreate(
    out: Out<CUmemGenericAllocationHandle>,
    bytes: usize,
    properties: In<CUmemAllocationProp>,
    flags: c_ulonglong,
) -> Result {
    let properties = properties.read();
    let platform = supporting()?;
    if bytes == 0 || !(bytes as u64).is_multiple_of(GRANULARITY) || flags != 0 {
        return Err(INVALID);
    }
    let (place, device) = check(platform, &properties)?;
    device.map_or(Ok(()), |device| device.health.check())?;
    out.set(platform.virtual_memory.create(bytes as u64, place, device)?);
    Ok(())
}

pub(super) fn cuMemRelease(handle: CUmemGenericAllocationHandle) -> Result {
    platform()?.virtual_memory.release(handle)
}

pub(super) fn cuMemMap(
    pointer: CUdeviceptr,
    bytes: usize,
    offset: usize,
    handle: CUmemGenericAllocationHandle,
    flags: c_ulonglong,
) -> Result {
    if offset != 0 || flags != 0 {
        return Err(INVALID);
    }
    platform()?.virtual_memory.map(pointer, bytes as u64, handle)
}

/// Waits for nothing: work that still uses the mapping finds nothing there.
pub(super) fn cuMemUnmap(pointer: CUdeviceptr, bytes: usize) -> Result {
    let platform = platform()?;
    platform.virtual_memory.unmap(platform, pointer, bytes as u64)
}

pub(super) fn cuMemSetAccess(
    pointer: CUdeviceptr,
    bytes: usize,
    descriptions: List<CUmemAccessDesc>,
    count: Count,
) -> Result {
    if count.get() == 0 {
        return Err(INVALID);
    }
    let descriptions = descriptions.of(count).iter()?;
    let platform = platform()?;
    let mut changes = Vec::new();
    for description in descriptions {
        changes.push((accessor(platform, description.location)?, protection(description.flags)?));
    }
    platform.virtual_memory.set_access(platform, pointer, bytes as u64, &changes)
}

pub(super) fn cuMemGetAccess(
    out: Out<c_ulonglong>,
    location: In<CUmemLocation>,
    pointer: CUdeviceptr,
) -> Result {
    let location = location.read();
    let platform = platform()?;
    let accessor = accessor(platform, location)?;
    let mapping = platform.virtual_memory.containing(pointer).ok_or(INVALID)?;
    let protection =
        accessor.map_or(mapping.host_protection(), |ordinal| mapping.device_protection(ordinal));
    out.set(c_ulonglong::from(access_flags(protection).0));
    Ok(())
}

pub(super) fn cuMemGetAllocationGranularity(
    out: Out<usize>,
    properties: In<CUmemAllocationProp>,
    option: CUmemAllocationGranularity_flags,
) -> Result {
    check(supporting()?, &properties.read())?;
    match option {
        CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM
        | CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_RECOMMENDED => {
            out.set(GRANULARITY as usize);
            Ok(())
        }
        _ => Err(INVALID),
    }
}

pub(super) fn cuMemGetAllocationPropertiesFromHandle(
    out: Out<CUmemAllocationProp>,
    handle: CUmemGenericAllocationHandle,
) -> Result {
    let physical = platform()?.virtual_memory.physical(handle)?;
    let (kind, id) = match physical.place {
        Place::Device(ordinal) => (Kind::CU_MEM_LOCATION_TYPE_DEVICE, ordinal as i32),
        Place::Host => (Kind::CU_MEM_LOCATION_TYPE_HOST, 0),
        Place::HostNode => (Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA, 0),
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

pub(super) fn cuMemRetainAllocationHandle(
    out: Out<CUmemGenericAllocationHandle>,
    address: *mut c_void,
) -> Result {
    out.set(platform()?.virtual_memory.retain(number(address))?);
    Ok(())
}

/// Refused: memory cannot be created for it either.
pub(super) fn cuMemExportToShareableHandle(
    shareable: *mut c_void,
    handle: CUmemGenericAllocationHandle,
    _kind: CUmemAllocationHandleType,
    flags: c_ulonglong,
) -> Result {
    platform()?.virtual_memory.physical(handle)?;
    if shareable.is_null() || flags != 0 {
        return Err(INVALID);
    }
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

/// Refused.
pub(super) fn cuMemImportFromShareableHandle(
    _handle: Out<CUmemGenericAllocationHandle>,
    _shareable: *mut c_void,
    _kind: CUmemAllocationHandleType,
) -> Result {
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

/// The machine, if its devices manage virtual memory.
fn supporting() -> Result<&'static Platform> {
    let platform = platform()?;
    match platform.config.virtual_memory {
        true => Ok(platform),
        false => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
    }
}

/// Where memory of these properties is.
fn check(
    platform: &'static Platform,
    properties: &CUmemAllocationProp,
) -> Result<(Place, Option<&'static Device>)> {
    if properties.type_ != CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED
        || !properties.win32HandleMetaData.is_null()
    {
        return Err(INVALID);
    }
    let (place, device) = match properties.location.type_ {
        Kind::CU_MEM_LOCATION_TYPE_DEVICE => {
            let device = platform.device(properties.location.id)?;
            (Place::Device(device.id.ordinal), Some(device))
        }
        Kind::CU_MEM_LOCATION_TYPE_HOST => (Place::Host, None),
        Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA if properties.location.id == 0 => {
            (Place::HostNode, None)
        }
        _ => return Err(INVALID),
    };
    let none = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;
    let flags = properties.allocFlags;
    if properties.requestedHandleTypes != none
        || flags.gpuDirectRDMACapable != 0
        || flags.usage != 0
    {
        // Attributes of the devices say so.
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    Ok((place, device))
}

/// The ordinal of the device that a location names, or `None` for the host.
pub(super) fn accessor(platform: &Platform, location: CUmemLocation) -> Result<Option<u32>> {
    match location.type_ {
        Kind::CU_MEM_LOCATION_TYPE_DEVICE => {
            platform.device(location.id).map(|device| Some(device.id.ordinal))
        }
        Kind::CU_MEM_LOCATION_TYPE_HOST | Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA => Ok(None),
        _ => Err(INVALID),
    }
}

pub(super) fn protection(flags: Flags) -> Result<Protection> {
    match flags {
        Flags::CU_MEM_ACCESS_FLAGS_PROT_NONE => Ok(Protection::None),
        Flags::CU_MEM_ACCESS_FLAGS_PROT_READ => Ok(Protection::Read),
        Flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE => Ok(Protection::ReadWrite),
        _ => Err(INVALID),
    }
}

pub(super) fn access_flags(protection: Protection) -> Flags {
    match protection {
        Protection::None => Flags::CU_MEM_ACCESS_FLAGS_PROT_NONE,
        Protection::Read => Flags::CU_MEM_ACCESS_FLAGS_PROT_READ,
        Protection::ReadWrite => Flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    }
}
