//! Virtual memory management: reserved addresses, physical memory, mappings and access.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_ulonglong;

use cuda_sys::{
    CUdeviceptr, CUmemAccess_flags as Flags, CUmemAccessDesc, CUmemAllocationGranularity_flags,
    CUmemAllocationHandleType, CUmemAllocationProp, CUmemAllocationType,
    CUmemGenericAllocationHandle, CUmemLocation, CUmemLocationType as Kind, CUresult,
};

use crate::api::Result;
use crate::api::arguments::{Count, In, List, Out};
use crate::device::{Device, MemoryLocation, SimulatedMachine, current, machine};
use crate::device::{GRANULARITY, Protection};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Reserves in the window of the current context's device, or of the first one: its kernels will
/// reach what is mapped there most quickly.
pub(in crate::api) fn cuMemAddressReserve(
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
    let machine = supporting()?;
    let device = match current::current() {
        Ok(context) => context.device,
        Err(_) => machine.device(0)?,
    };
    let memory = &machine.virtual_memory;
    out.set(memory.reserve(device, bytes as u64, alignment as u64, hint)?);
    Ok(())
}

pub(in crate::api) fn cuMemAddressFree(pointer: CUdeviceptr, bytes: usize) -> Result {
    let machine = machine()?;
    machine.virtual_memory.free(&machine.devices, pointer, bytes as u64)
}

pub(in crate::api) fn cuMemCreate(
    out: Out<CUmemGenericAllocationHandle>,
    bytes: usize,
    properties: In<CUmemAllocationProp>,
    flags: c_ulonglong,
) -> Result {
    let properties = properties.read();
    let machine = supporting()?;
    if bytes == 0 || !(bytes as u64).is_multiple_of(GRANULARITY) || flags != 0 {
        return Err(INVALID);
    }
    let (place, device) = check(machine, &properties)?;
    device.map_or(Ok(()), |device| device.health.check())?;
    out.set(machine.virtual_memory.create(bytes as u64, place, device)?);
    Ok(())
}

pub(in crate::api) fn cuMemRelease(handle: CUmemGenericAllocationHandle) -> Result {
    machine()?.virtual_memory.release(handle)
}

pub(in crate::api) fn cuMemMap(
    pointer: CUdeviceptr,
    bytes: usize,
    offset: usize,
    handle: CUmemGenericAllocationHandle,
    flags: c_ulonglong,
) -> Result {
    if offset != 0 || flags != 0 {
        return Err(INVALID);
    }
    machine()?.virtual_memory.map(pointer, bytes as u64, handle)
}

/// Waits for nothing: work that still uses the mapping finds nothing there.
pub(in crate::api) fn cuMemUnmap(pointer: CUdeviceptr, bytes: usize) -> Result {
    let machine = machine()?;
    machine.virtual_memory.unmap(&machine.devices, pointer, bytes as u64)
}

pub(in crate::api) fn cuMemSetAccess(
    pointer: CUdeviceptr,
    bytes: usize,
    descriptions: List<CUmemAccessDesc>,
    count: Count,
) -> Result {
    if count.get() == 0 {
        return Err(INVALID);
    }
    let descriptions = descriptions.of(count).iter()?;
    let machine = machine()?;
    let mut changes = Vec::new();
    for description in descriptions {
        changes.push((accessor(machine, description.location)?, protection(description.flags)?));
    }
    machine.virtual_memory.set_access(&machine.devices, pointer, bytes as u64, &changes)
}

pub(in crate::api) fn cuMemGetAllocationGranularity(
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

/// The machine, if its devices manage virtual memory.
fn supporting() -> Result<&'static SimulatedMachine> {
    let machine = machine()?;
    match machine.config.virtual_memory {
        true => Ok(machine),
        false => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
    }
}

/// The place of memory of these properties.
fn check(
    machine: &'static SimulatedMachine,
    properties: &CUmemAllocationProp,
) -> Result<(MemoryLocation, Option<&'static Device>)> {
    if properties.type_ != CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED
        || !properties.win32HandleMetaData.is_null()
    {
        return Err(INVALID);
    }
    let (place, device) = match properties.location.type_ {
        Kind::CU_MEM_LOCATION_TYPE_DEVICE => {
            let device = machine.device(properties.location.id)?;
            (MemoryLocation::Device(device.id.ordinal), Some(device))
        }
        Kind::CU_MEM_LOCATION_TYPE_HOST => (MemoryLocation::Host, None),
        Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA if properties.location.id == 0 => {
            (MemoryLocation::HostNode, None)
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
pub(in crate::api) fn accessor(
    machine: &SimulatedMachine,
    location: CUmemLocation,
) -> Result<Option<u32>> {
    match location.type_ {
        Kind::CU_MEM_LOCATION_TYPE_DEVICE => {
            machine.device(location.id).map(|device| Some(device.id.ordinal))
        }
        Kind::CU_MEM_LOCATION_TYPE_HOST | Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA => Ok(None),
        _ => Err(INVALID),
    }
}

pub(in crate::api) fn protection(flags: Flags) -> Result<Protection> {
    match flags {
        Flags::CU_MEM_ACCESS_FLAGS_PROT_NONE => Ok(Protection::None),
        Flags::CU_MEM_ACCESS_FLAGS_PROT_READ => Ok(Protection::Read),
        Flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE => Ok(Protection::ReadWrite),
        _ => Err(INVALID),
    }
}
