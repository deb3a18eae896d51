//! Memory pools, and memory that is allocated and freed in a stream's order.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_ulonglong, c_void};
use std::sync::Arc;

use cuda_sys::{
    CUdevice, CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType,
    CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemPool_attribute as Attribute,
    CUmemPoolProps, CUmemPoolPtrExportData, CUmemoryPool, CUresult, CUstream,
};

use crate::api::Result;
use crate::api::arguments::{self, Count, In, List, Out, Untyped, handle, number};
use crate::api::memory::virtual_memory::{accessor, protection};
use crate::api::other_programs::memory::virtual_memory::access_flags;
use crate::device::Protection;
use crate::device::{
    Device, Purpose, SimulatedMachine, StreamRef, allocation_work, free_work, machine,
};
use crate::device::{PoolAttributes, StreamOrderedPool};
use crate::graph::{CaptureSequence, NodeOperation, graphs};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(in crate::api) fn cuMemAllocAsync(
    out: Out<CUdeviceptr>,
    bytes: usize,
    stream: CUstream,
) -> Result {
    let machine = machine()?;
    let stream = arguments::capturable(machine, stream)?;
    let pool = machine.pools.current_of(stream.context().device)?;
    allocate(&out, bytes, &pool, &stream)
}

pub(in crate::api) fn cuMemAllocFromPoolAsync(
    out: Out<CUdeviceptr>,
    bytes: usize,
    pool: CUmemoryPool,
    stream: CUstream,
) -> Result {
    let machine = machine()?;
    let stream = arguments::capturable(machine, stream)?;
    allocate(&out, bytes, &find(machine, pool)?, &stream)
}

/// Memory of `cuMemAlloc` may be freed so too; it goes when the program next synchronises.
pub(in crate::api) fn cuMemFreeAsync(pointer: CUdeviceptr, stream: CUstream) -> Result {
    let machine = machine()?;
    let stream = arguments::capturable(machine, stream)?;
    if stream.capture().is_some() {
        let right = graphs()?.memories.right_to_free(pointer)?;
        return CaptureSequence::take_in(&stream, || NodeOperation::Free(right)).map(drop);
    }
    let device = machine.device_at(pointer).ok_or(INVALID)?;
    let allocation = device.memory.starting_at(pointer).ok_or(INVALID)?;
    if allocation.purpose == Purpose::Graph {
        let memory = graphs()?.memories.free(pointer)?;
        stream.queue().enqueue(memory.freeing());
        return Ok(());
    }
    if !matches!(allocation.purpose, Purpose::Program | Purpose::Pool) {
        return Err(INVALID);
    }
    // An operation of its own: what waits for the work before it does not wait for the free.
    let point = stream.queue().enqueue(free_work(pointer, &allocation));
    let freed = machine.pools.free(&device.memory, &allocation, Some(point));
    if freed { Ok(()) } else { Err(INVALID) }
}

pub(in crate::api) fn cuMemPoolCreate(
    out: Out<CUmemoryPool>,
    properties: In<CUmemPoolProps>,
) -> Result {
    let properties = properties.read();
    let machine = machine()?;
    if properties.allocType != CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED
        || !properties.win32SecurityAttributes.is_null()
        || properties.reserved.iter().any(|&byte| byte != 0)
    {
        return Err(INVALID);
    }
    let device = device_of(machine, properties.location)?;
    let none = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;
    if properties.handleTypes != none || properties.usage != 0 {
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    let most = match properties.maxSize {
        0 => u64::MAX,
        most => most as u64,
    };
    out.set(handle(machine.pools.create(device, most)?));
    Ok(())
}

pub(in crate::api) fn cuMemPoolDestroy(pool: CUmemoryPool) -> Result {
    machine()?.pools.destroy(number(pool))
}

pub(in crate::api) fn cuMemPoolSetAttribute(
    pool: CUmemoryPool,
    attribute: Attribute,
    value: Untyped,
) -> Result {
    let pool = find(machine()?, pool)?;
    if value.is_null() {
        return Err(INVALID);
    }
    // SAFETY: it is called for attributes that are integers.
    let switch = || unsafe { value.read::<c_int>() }.map(|value| value != 0);
    // SAFETY: it is called for attributes that are 64-bit numbers.
    let bytes = || unsafe { value.read::<u64>() };
    match attribute {
        Attribute::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES => {
            let on = switch()?;
            pool.change(|settings| settings.follow_dependencies = on);
        }
        Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC => {
            let on = switch()?;
            pool.change(|settings| settings.opportunistic = on);
        }
        Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => {
            let on = switch()?;
            pool.change(|settings| settings.internal_dependencies = on);
        }
        Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => {
            let keep = bytes()?;
            pool.change(|settings| settings.release_threshold = keep);
        }
        Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH if bytes()? == 0 => {
            pool.forget_highs(true, false);
        }
        Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH if bytes()? == 0 => pool.forget_highs(false, true),
        _ => return Err(INVALID),
    }
    Ok(())
}

pub(in crate::api) fn cuMemPoolGetAttribute(
    pool: CUmemoryPool,
    attribute: Attribute,
    value: Untyped,
) -> Result {
    let pool = find(machine()?, pool)?;
    let PoolAttributes {
        release_threshold,
        follow_dependencies,
        opportunistic,
        internal_dependencies,
    } = pool.settings();
    let usage = pool.usage();
    // SAFETY: it is called for attributes that are integers.
    let switch = |on| unsafe { value.out() }.map(|out| out.set(c_int::from(on)));
    // SAFETY: it is called for attributes that are 64-bit numbers.
    let bytes = |count: u64| unsafe { value.out() }.map(|out| out.set(count));
    match attribute {
        Attribute::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES => switch(follow_dependencies),
        Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC => switch(opportunistic),
        Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => {
            switch(internal_dependencies)
        }
        Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => bytes(release_threshold),
        Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT => bytes(usage.reserved),
        Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => bytes(usage.reserved_high),
        Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT => bytes(usage.used),
        Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH => bytes(usage.used_high),
        _ => Err(INVALID),
    }
}

pub(in crate::api) fn cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize) -> Result {
    find(machine()?, pool)?.trim(keep as u64);
    Ok(())
}

pub(in crate::api) fn cuMemPoolSetAccess(
    pool: CUmemoryPool,
    descriptions: List<CUmemAccessDesc>,
    count: Count,
) -> Result {
    let machine = machine()?;
    let pool = find(machine, pool)?;
    let mut changes = Vec::new();
    for description in descriptions.of(count).iter()? {
        let ordinal = accessor(machine, description.location)?.ok_or(INVALID)?;
        let protection = protection(description.flags)?;
        // A device's access to its own memory cannot be taken away.
        if ordinal == pool.device.id.ordinal && protection != Protection::ReadWrite {
            return Err(INVALID);
        }
        changes.push((ordinal, protection));
    }
    changes.into_iter().for_each(|(ordinal, protection)| pool.set_access(ordinal, protection));
    Ok(())
}

pub(in crate::api) fn cuMemPoolGetAccess(
    out: Out<CUmemAccess_flags>,
    pool: CUmemoryPool,
    location: In<CUmemLocation>,
) -> Result {
    let location = location.read();
    let machine = machine()?;
    let pool = find(machine, pool)?;
    let ordinal = accessor(machine, location)?.ok_or(INVALID)?;
    out.set(access_flags(pool.access(ordinal)));
    Ok(())
}

pub(in crate::api) fn cuDeviceGetDefaultMemPool(
    out: Out<CUmemoryPool>,
    device: CUdevice,
) -> Result {
    let machine = machine()?;
    out.set(handle(machine.pools.default_of(machine.device(device)?)?.handle));
    Ok(())
}

pub(in crate::api) fn cuDeviceGetMemPool(out: Out<CUmemoryPool>, device: CUdevice) -> Result {
    let machine = machine()?;
    out.set(handle(machine.pools.current_of(machine.device(device)?)?.handle));
    Ok(())
}

pub(in crate::api) fn cuDeviceSetMemPool(device: CUdevice, pool: CUmemoryPool) -> Result {
    let machine = machine()?;
    let device = machine.device(device)?;
    machine.pools.set_current(device, find(machine, pool)?)
}

pub(in crate::api) fn cuMemGetDefaultMemPool(
    out: Out<CUmemoryPool>,
    location: In<CUmemLocation>,
    kind: CUmemAllocationType,
) -> Result {
    let location = location.read();
    let machine = machine()?;
    check_kind(kind)?;
    out.set(handle(machine.pools.default_of(device_of(machine, location)?)?.handle));
    Ok(())
}

pub(in crate::api) fn cuMemGetMemPool(
    out: Out<CUmemoryPool>,
    location: In<CUmemLocation>,
    kind: CUmemAllocationType,
) -> Result {
    let location = location.read();
    let machine = machine()?;
    check_kind(kind)?;
    out.set(handle(machine.pools.current_of(device_of(machine, location)?)?.handle));
    Ok(())
}

pub(in crate::api) fn cuMemSetMemPool(
    location: In<CUmemLocation>,
    kind: CUmemAllocationType,
    pool: CUmemoryPool,
) -> Result {
    let location = location.read();
    let machine = machine()?;
    check_kind(kind)?;
    let device = device_of(machine, location)?;
    machine.pools.set_current(device, find(machine, pool)?)
}

/// Refused: pools cannot be made for it either, which makes it a wrong pool.
pub(in crate::api) fn cuMemPoolExportToShareableHandle(
    _shareable: *mut c_void,
    pool: CUmemoryPool,
    _kind: CUmemAllocationHandleType,
    _flags: c_ulonglong,
) -> Result {
    find(machine()?, pool)?;
    Err(INVALID)
}

/// Refused.
pub(in crate::api) fn cuMemPoolImportFromShareableHandle(
    _pool: Out<CUmemoryPool>,
    _shareable: *mut c_void,
    _kind: CUmemAllocationHandleType,
    _flags: c_ulonglong,
) -> Result {
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

/// Refused: it is memory of a pool that is not shared.
pub(in crate::api) fn cuMemPoolExportPointer(
    _data: *mut CUmemPoolPtrExportData,
    _pointer: CUdeviceptr,
) -> Result {
    Err(INVALID)
}

/// Refused: the pool was not imported.
pub(in crate::api) fn cuMemPoolImportPointer(
    _pointer: *mut CUdeviceptr,
    pool: CUmemoryPool,
    _data: *mut CUmemPoolPtrExportData,
) -> Result {
    find(machine()?, pool)?;
    Err(INVALID)
}

fn allocate(
    out: &Out<CUdeviceptr>,
    bytes: usize,
    pool: &Arc<StreamOrderedPool>,
    stream: &StreamRef,
) -> Result {
    // Nothing has an address too, which is freed like others.
    let bytes = bytes.max(1);
    pool.device.health.check()?;
    if stream.capture().is_some() {
        let (owner, memories) = (stream.context().id, &graphs()?.memories);
        let memory = memories.reserve(pool.device, bytes as u64, owner, Box::default(), false)?;
        let address = memory.allocation.address;
        CaptureSequence::take_in(stream, || NodeOperation::Allocate(memory))?;
        out.set(address);
        return Ok(());
    }
    let allocation = pool.allocate(bytes as u64, stream.queue())?;
    if cuda_check::is_on() {
        stream.queue().enqueue(allocation_work(&allocation));
    }
    out.set(allocation.address);
    Ok(())
}

fn find(machine: &SimulatedMachine, pool: CUmemoryPool) -> Result<Arc<StreamOrderedPool>> {
    machine.pools.get(number(pool)).ok_or(INVALID)
}

/// The device whose memory a pool is to be of; those of the host are not here.
fn device_of(
    machine: &'static SimulatedMachine,
    location: CUmemLocation,
) -> Result<&'static Device> {
    match location.type_ {
        CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE => machine.device(location.id),
        CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST
        | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA => {
            Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
        }
        _ => Err(INVALID),
    }
}

fn check_kind(kind: CUmemAllocationType) -> Result {
    match kind {
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED => Ok(()),
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED => {
            Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
        }
        _ => Err(INVALID),
    }
}
