//! Attributes of pointers: what memory there is.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ops::Range;
use std::sync::atomic::Ordering;

use cuda_sys::{CUdeviceptr, CUmemorytype, CUpointer_attribute as Attribute, CUresult};

use crate::api::Result;
use crate::api::arguments::Untyped;
use crate::device::Protection;
use crate::device::{Context, Location, SimulatedMachine, current, machine};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(in crate::api) fn cuPointerGetAttribute(
    data: Untyped,
    attribute: Attribute,
    pointer: CUdeviceptr,
) -> Result {
    let machine = machine()?;
    let width = width(attribute).ok_or(INVALID)?;
    let value = value(machine, attribute, pointer)?;
    write(data, width, value)
}

/// The width of an attribute's value.
#[derive(Clone, Copy)]
pub(in crate::api) enum Width {
    /// In 32 bits.
    Single,
    /// In 64 bits: addresses, handles and sizes.
    Double,
}

/// `None` for what is not supported here, or not known.
pub(in crate::api) fn width(attribute: Attribute) -> Option<Width> {
    match attribute {
        Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        | Attribute::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
        | Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED
        | Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        | Attribute::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
        | Attribute::CU_POINTER_ATTRIBUTE_MAPPED
        | Attribute::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
        | Attribute::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS
        | Attribute::CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => Some(Width::Single),
        Attribute::CU_POINTER_ATTRIBUTE_CONTEXT
        | Attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER
        | Attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER
        | Attribute::CU_POINTER_ATTRIBUTE_BUFFER_ID
        | Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR
        | Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE
        | Attribute::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES
        | Attribute::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE
        | Attribute::CU_POINTER_ATTRIBUTE_MAPPING_SIZE
        | Attribute::CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR
        | Attribute::CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => Some(Width::Double),
        // Tokens for a kernel interface that is not there.
        _ => None,
    }
}

/// The value of an attribute of a pointer.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for pointers that are no memory of the driver's, and for
/// attributes that the memory does not have.
pub(in crate::api) fn value(
    machine: &SimulatedMachine,
    attribute: Attribute,
    pointer: CUdeviceptr,
) -> Result<u64> {
    match Location::of(machine, pointer, 1) {
        Ok(Location::Pageable) => Err(INVALID),
        Ok(location) => value_at(machine, &location, attribute, pointer),
        Err(error) => {
            let reserved = machine.virtual_memory.reservation(pointer).ok_or(error)?;
            match attribute {
                Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => Ok(reserved.start),
                Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE => Ok(reserved.end - reserved.start),
                Attribute::CU_POINTER_ATTRIBUTE_MAPPED => Ok(0),
                _ => Err(INVALID),
            }
        }
    }
}

/// The value of an attribute of a pointer to memory that is there.
fn value_at(
    machine: &SimulatedMachine,
    location: &Location,
    attribute: Attribute,
    pointer: CUdeviceptr,
) -> Result<u64> {
    let size = |range: Range<u64>| range.end - range.start;
    let invalid = || INVALID;
    Ok(match attribute {
        Attribute::CU_POINTER_ATTRIBUTE_CONTEXT => owner_handle(machine, location),
        Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE => u64::from(match location.is_device() {
            true => CUmemorytype::CU_MEMORYTYPE_DEVICE.0,
            false => CUmemorytype::CU_MEMORYTYPE_HOST.0,
        }),
        Attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER => {
            let context = current::current()?;
            let reachable = access(&context, location) != Protection::None;
            reachable.then_some(pointer).ok_or_else(invalid)?
        }
        Attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER => {
            is_the_hosts(location).then_some(pointer).ok_or_else(invalid)?
        }
        Attribute::CU_POINTER_ATTRIBUTE_BUFFER_ID
        | Attribute::CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => id(location),
        // Host memory is as near to every device; it counts as the first one's.
        Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => location.device().map_or(0, u64::from),
        Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => {
            reserved_range(location).ok_or_else(invalid)?.start
        }
        Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE => {
            size(reserved_range(location).ok_or_else(invalid)?)
        }
        Attribute::CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR => {
            mapped_range(location).ok_or_else(invalid)?.start
        }
        Attribute::CU_POINTER_ATTRIBUTE_MAPPING_SIZE => {
            size(mapped_range(location).ok_or_else(invalid)?)
        }
        Attribute::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => {
            match access(&*current::current()?, location) {
                Protection::None => 0,
                Protection::Read => 1,
                Protection::ReadWrite => 3,
            }
        }
        Attribute::CU_POINTER_ATTRIBUTE_MAPPED => 1,
        Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED => u64::from(location.is_managed()),
        Attribute::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS => match location {
            Location::Device(allocation) => {
                u64::from(allocation.synchronous.load(Ordering::Acquire))
            }
            _ => 0,
        },
        Attribute::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => match location {
            Location::Device(allocation) => {
                allocation.pool.as_ref().map_or(0, |pool| pool.handle())
            }
            _ => 0,
        },
        // Neither shared with other processes, nor reached by other machines.
        _ => 0,
    })
}

/// The addresses that belong together, also where not all of them are mapped.
fn reserved_range(location: &Location) -> Option<Range<u64>> {
    match location {
        Location::Mapped(mapping) => Some(mapping.reserved.clone()),
        other => mapped_range(other),
    }
}

pub(in crate::api) fn mapped_range(location: &Location) -> Option<Range<u64>> {
    match location {
        Location::Device(allocation) => Some(allocation.range()),
        Location::Mapped(mapping) => Some(mapping.range.clone()),
        Location::Pinned(host) => Some(host.range()),
        Location::Pageable => None,
    }
}

fn id(location: &Location) -> u64 {
    match location {
        Location::Device(allocation) => allocation.id,
        Location::Mapped(mapping) => mapping.id,
        Location::Pinned(host) => host.id,
        Location::Pageable => 0,
    }
}

/// True if the program may read and write the memory itself.
fn is_the_hosts(location: &Location) -> bool {
    match location {
        Location::Device(allocation) => allocation.managed.is_some(),
        Location::Mapped(mapping) => mapping.host_protection() != Protection::None,
        Location::Pinned(_) | Location::Pageable => true,
    }
}

/// The access that kernels of a context have to memory.
fn access(context: &Context, location: &Location) -> Protection {
    let ordinal = context.device.id.ordinal;
    match location {
        Location::Device(allocation) => context.access_to(allocation),
        Location::Pageable => Protection::None,
        Location::Mapped(mapping) => mapping.device_protection(ordinal),
        Location::Pinned(_) => Protection::ReadWrite,
    }
}

/// The handle of the context that memory belongs to. That of pools and mapped memory belong to
/// none.
fn owner_handle(machine: &SimulatedMachine, location: &Location) -> u64 {
    let owner = match location {
        Location::Device(allocation) => allocation.owner,
        Location::Pinned(host) => host.owner,
        Location::Mapped(_) | Location::Pageable => return 0,
    };
    machine.contexts.find(|context| context.id == owner).map_or(0, |context| context.handle)
}

/// Writes the value of an attribute of that width.
pub(in crate::api) fn write(place: Untyped, width: Width, value: u64) -> Result {
    match width {
        // SAFETY: the attribute's value has 32 bits.
        Width::Single => unsafe { place.out::<u32>() }?.set(value as u32),
        // SAFETY: the attribute's value has 64 bits.
        Width::Double => unsafe { place.out::<u64>() }?.set(value),
    }
    Ok(())
}
