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
use super::arguments::{Out, number};
use crate::device::virtual_memory::{GRANULARITY, Protection};
use crate::device::{Device, Place, Platform, current, platform};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Reserves in the window of the current context's device, or of the first one: its kernels will
/// reach what is mapped there most quickly.
pub(super) unsafe fn cuMemAddressReserve(
    pointer: *mut CUdeviceptr,
    bytes: usize,
    alignment: usize,
    hint: CUdeviceptr,
    flags: c_ulonglong,
) -> Result {
    /// The size of the host's pages.
    const PAGE: usize = 4096;
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(pointer) }?;
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

pub(super) unsafe fn cuMemAddressFree(pointer: CUdeviceptr, bytes: usize) -> Result {
    let platform = platform()?;
    platform.virtual_memory.free(platform, pointer, bytes as u64)
}

pub(super) unsafe fn cuMemCreate(
    handle: *mut CUmemGenericAllocationHandle,
    bytes: usize,
    properties: *const CUmemAllocationProp,
    flags: c_ulonglong,
) -> Result {
    // SAFETY: the caller's promise.
    let (out, properties) = unsafe { (Out::new(handle)?, properties.as_ref().ok_or(INVALID)?) };
    let platform = supporting()?;
    if bytes == 0 || !(bytes as u64).is_multiple_of(GRANULARITY) || flags != 0 {
        return Err(INVALID);
    }
    let (place, device) = check(platform, properties)?;
    device.map_or(Ok(()), |device| device.health.check())?;
    out.set(platform.virtual_memory.create(bytes as u64, place, device)?);
    Ok(())
}

pub(super) unsafe fn cuMemRelease(handle: CUmemGenericAllocationHandle) -> Result {
    platform()?.virtual_memory.release(handle)
}

pub(super) unsafe fn cuMemMap(
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
pub(super) unsafe fn cuMemUnmap(pointer: CUdeviceptr, bytes: usize) -> Result {
    let platform = platform()?;
    platform.virtual_memory.unmap(platform, pointer, bytes as u64)
}

pub(super) unsafe fn cuMemSetAccess(
    pointer: CUdeviceptr,
    bytes: usize,
    descriptions: *const CUmemAccessDesc,
    count: usize,
) -> Result {
    if descriptions.is_null() || count == 0 {
        return Err(INVALID);
    }
    let platform = platform()?;
    let mut changes = Vec::new();
    for index in 0..count {
        // SAFETY: the caller's promise: there are that many.
        let description = unsafe { descriptions.add(index).read_unaligned() };
        changes.push((accessor(platform, description.location)?, protection(description.flags)?));
    }
    platform.virtual_memory.set_access(platform, pointer, bytes as u64, &changes)
}

pub(super) unsafe fn cuMemGetAccess(
    flags: *mut c_ulonglong,
    location: *const CUmemLocation,
    pointer: CUdeviceptr,
) -> Result {
    // SAFETY: the caller's promise.
    let (out, location) = unsafe { (Out::new(flags)?, location.as_ref().ok_or(INVALID)?) };
    let platform = platform()?;
    let accessor = accessor(platform, *location)?;
    let mapping = platform.virtual_memory.containing(pointer).ok_or(INVALID)?;
    let protection =
        accessor.map_or(mapping.host_protection(), |ordinal| mapping.device_protection(ordinal));
    out.set(c_ulonglong::from(access_flags(protection).0));
    Ok(())
}

pub(super) unsafe fn cuMemGetAllocationGranularity(
    granularity: *mut usize,
    properties: *const CUmemAllocationProp,
    option: CUmemAllocationGranularity_flags,
) -> Result {
    // SAFETY: the caller's promise.
    let (out, properties) =
        unsafe { (Out::new(granularity)?, properties.as_ref().ok_or(INVALID)?) };
    check(supporting()?, properties)?;
    match option {
        CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM
        | CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_RECOMMENDED => {
            out.set(GRANULARITY as usize);
            Ok(())
        }
        _ => Err(INVALID),
    }
}

pub(super) unsafe fn cuMemGetAllocationPropertiesFromHandle(
    properties: *mut CUmemAllocationProp,
    handle: CUmemGenericAllocationHandle,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(properties) }?;
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

pub(super) unsafe fn cuMemRetainAllocationHandle(
    handle: *mut CUmemGenericAllocationHandle,
    address: *mut c_void,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(handle) }?;
    out.set(platform()?.virtual_memory.retain(number(address))?);
    Ok(())
}

/// Refused: memory cannot be created for it either.
pub(super) unsafe fn cuMemExportToShareableHandle(
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
pub(super) unsafe fn cuMemImportFromShareableHandle(
    handle: *mut CUmemGenericAllocationHandle,
    _shareable: *mut c_void,
    _kind: CUmemAllocationHandleType,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { Out::new(handle) }?;
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
