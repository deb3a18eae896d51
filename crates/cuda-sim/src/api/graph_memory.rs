//! Memory that graphs allocate and free.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_void;
use std::{ptr, slice};

use cuda_sys::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUdevice, CUdeviceptr, CUgraph, CUgraphMem_attribute as Attribute,
    CUgraphNode, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation, CUmemLocationType,
    CUmemPoolProps, CUresult, cuuint64_t,
};

use super::Result;
use super::arguments::{self, Out};
use super::graph_nodes::{After, add, after};
use super::graph_parameters::read;
use crate::device::{current, platform};
use crate::graph::{Amount, Operation};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(super) unsafe fn cuGraphAddMemAllocNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    parameters: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { add_allocation(node, graph, after(dependencies, count), parameters) }
}

pub(super) unsafe fn cuGraphMemAllocNodeGetParams(
    node: CUgraphNode,
    parameters: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(parameters) }?;
    let (graph, node) = arguments::node(platform()?, node)?;
    let Some(Operation::Allocate(memory)) = graph.operation(node) else { return Err(INVALID) };
    let location = CUmemLocation {
        type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
        id: memory.device.id.ordinal as i32,
    };
    out.set(CUDA_MEM_ALLOC_NODE_PARAMS {
        poolProps: CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location,
            win32SecurityAttributes: ptr::null_mut(),
            maxSize: 0,
            usage: 0,
            reserved: [0; 54],
        },
        // The list is the node's, and stays as long.
        accessDescs: memory.access.as_ptr(),
        accessDescCount: memory.access.len(),
        bytesize: memory.allocation.bytes as usize,
        dptr: memory.allocation.address,
    });
    Ok(())
}

pub(super) unsafe fn cuGraphAddMemFreeNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    pointer: CUdeviceptr,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { add_free(node, graph, after(dependencies, count), pointer) }
}

pub(super) unsafe fn cuGraphMemFreeNodeGetParams(
    node: CUgraphNode,
    pointer: *mut CUdeviceptr,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(pointer) }?;
    let (graph, node) = arguments::node(platform()?, node)?;
    let Some(Operation::Free(right)) = graph.operation(node) else { return Err(INVALID) };
    out.set(right.memory.allocation.address);
    Ok(())
}

/// Nothing is kept that nobody uses: what is set aside is so for a node.
pub(super) unsafe fn cuDeviceGraphMemTrim(device: CUdevice) -> Result {
    platform()?.device(device).map(drop)
}

pub(super) unsafe fn cuDeviceGetGraphMemAttribute(
    device: CUdevice,
    attribute: Attribute,
    value: *mut c_void,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(value.cast::<cuuint64_t>()) }?;
    let platform = platform()?;
    let ordinal = platform.device(device)?.id.ordinal;
    let amounts = |amount| platform.graphs.memories.amounts(ordinal, amount);
    out.set(match attribute {
        Attribute::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT => amounts(Amount::Used).0,
        Attribute::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => amounts(Amount::Used).1,
        Attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT => amounts(Amount::Reserved).0,
        Attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => amounts(Amount::Reserved).1,
        _ => return Err(INVALID),
    });
    Ok(())
}

pub(super) unsafe fn cuDeviceSetGraphMemAttribute(
    device: CUdevice,
    attribute: Attribute,
    value: *mut c_void,
) -> Result {
    let platform = platform()?;
    let ordinal = platform.device(device)?.id.ordinal;
    let amount = match attribute {
        Attribute::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => Amount::Used,
        Attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => Amount::Reserved,
        _ => return Err(INVALID),
    };
    // SAFETY: the caller's promise.
    if unsafe { read(value.cast::<cuuint64_t>().cast_const()) }? != 0 {
        return Err(INVALID);
    }
    platform.graphs.memories.reset_high(ordinal, amount);
    Ok(())
}

/// # Safety
/// As [`add`]; `parameters` is null, or can be read and written, as what it points to can be read.
pub(super) unsafe fn add_allocation(
    node: *mut CUgraphNode,
    graph: CUgraph,
    after: After,
    parameters: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(parameters) }?;
    // SAFETY: as above.
    let mut given = unsafe { read(parameters.cast_const()) }?;
    let properties = &given.poolProps;
    let platform = platform()?;
    if properties.allocType != CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED
        || properties.handleTypes != CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE
        || properties.location.type_ != CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE
        || given.bytesize == 0
        || given.accessDescCount > platform.devices.len()
        || (given.accessDescCount > 0 && given.accessDescs.is_null())
    {
        return Err(INVALID);
    }
    let device = platform.device(properties.location.id).map_err(|_| INVALID)?;
    let access: Box<[_]> = match given.accessDescCount {
        0 => Box::default(),
        // SAFETY: the caller's promise.
        count => unsafe { slice::from_raw_parts(given.accessDescs, count) }.into(),
    };
    let owner = current::current()?.id;
    let bytes = given.bytesize as u64;
    let memory = platform.graphs.memories.reserve(device, bytes, owner, access)?;
    given.dptr = memory.allocation.address;
    // SAFETY: as above.
    unsafe { add(node, graph, after, |_| Ok(Operation::Allocate(memory))) }?;
    out.set(given);
    Ok(())
}

/// # Safety
/// As [`add`].
pub(super) unsafe fn add_free(
    node: *mut CUgraphNode,
    graph: CUgraph,
    after: After,
    pointer: CUdeviceptr,
) -> Result {
    let operation = |platform: &'static crate::device::Platform| {
        platform.graphs.memories.right_to_free(pointer).map(Operation::Free)
    };
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, after, operation) }
}
