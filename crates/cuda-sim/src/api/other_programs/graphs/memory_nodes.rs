//! Memory that graphs allocate and free.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::{ptr, slice};

use cuda_sys::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUdevice, CUdeviceptr, CUgraph, CUgraphMem_attribute as Attribute,
    CUgraphNode, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation, CUmemLocationType,
    CUmemPoolProps, CUresult, cuuint64_t,
};

use crate::api::Result;
use crate::api::arguments::{self, Count, InOut, List, Out, Untyped};
use crate::api::graphs::nodes::Dependencies;
use crate::api::other_programs::graphs::nodes::add;
use crate::device::{current, machine};
use crate::graph::{Amount, NodeOperation, graphs};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(in crate::api) fn cuGraphAddMemAllocNode(
    node: Option<Out<CUgraphNode>>,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    count: Count,
    parameters: InOut<CUDA_MEM_ALLOC_NODE_PARAMS>,
) -> Result {
    add_allocation(node, graph, Dependencies::new(dependencies, count), parameters)
}

pub(in crate::api) fn cuGraphMemAllocNodeGetParams(
    node: CUgraphNode,
    out: Out<CUDA_MEM_ALLOC_NODE_PARAMS>,
) -> Result {
    let (graph, node) = arguments::node(node)?;
    let Some(NodeOperation::Allocate(memory)) = graph.operation(node) else { return Err(INVALID) };
    let location = CUmemLocation {
        type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
        id: memory.device.id.ordinal as i32,
    };
    out.set(CUDA_MEM_ALLOC_NODE_PARAMS {
        poolProps: CUmemPoolProps {
            allocType: match memory.allocation.managed {
                Some(_) => CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED,
                None => CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            },
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

pub(in crate::api) fn cuGraphAddMemFreeNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    count: Count,
    pointer: CUdeviceptr,
) -> Result {
    add_free(node, graph, Dependencies::new(dependencies, count), pointer)
}

pub(in crate::api) fn cuGraphMemFreeNodeGetParams(
    node: CUgraphNode,
    out: Out<CUdeviceptr>,
) -> Result {
    let (graph, node) = arguments::node(node)?;
    let Some(NodeOperation::Free(right)) = graph.operation(node) else { return Err(INVALID) };
    out.set(right.memory.allocation.address);
    Ok(())
}

/// Nothing is kept that nobody uses: what is set aside is so for a node.
pub(in crate::api) fn cuDeviceGraphMemTrim(device: CUdevice) -> Result {
    machine()?.device(device).map(drop)
}

pub(in crate::api) fn cuDeviceGetGraphMemAttribute(
    device: CUdevice,
    attribute: Attribute,
    value: Untyped,
) -> Result {
    // SAFETY: all attributes are 64-bit numbers.
    let out = unsafe { value.out::<cuuint64_t>() }?;
    let machine = machine()?;
    let ordinal = machine.device(device)?.id.ordinal;
    let memories = &graphs()?.memories;
    let amounts = |amount| memories.amounts(ordinal, amount);
    out.set(match attribute {
        Attribute::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT => amounts(Amount::Used).0,
        Attribute::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => amounts(Amount::Used).1,
        Attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT => amounts(Amount::Reserved).0,
        Attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => amounts(Amount::Reserved).1,
        _ => return Err(INVALID),
    });
    Ok(())
}

pub(in crate::api) fn cuDeviceSetGraphMemAttribute(
    device: CUdevice,
    attribute: Attribute,
    value: Untyped,
) -> Result {
    let machine = machine()?;
    let ordinal = machine.device(device)?.id.ordinal;
    let amount = match attribute {
        Attribute::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => Amount::Used,
        Attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => Amount::Reserved,
        _ => return Err(INVALID),
    };
    // SAFETY: all attributes are 64-bit numbers.
    if unsafe { value.read::<cuuint64_t>() }? != 0 {
        return Err(INVALID);
    }
    graphs()?.memories.reset_high(ordinal, amount);
    Ok(())
}

/// Adds a node that allocates, and tells the program the address of what it will allocate.
pub(in crate::api) fn add_allocation(
    node: Option<Out<CUgraphNode>>,
    graph: CUgraph,
    after: Dependencies,
    parameters: InOut<CUDA_MEM_ALLOC_NODE_PARAMS>,
) -> Result {
    let mut given = parameters.get();
    let properties = &given.poolProps;
    let machine = machine()?;
    let is_managed = match properties.allocType {
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED => false,
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED => true,
        _ => return Err(INVALID),
    };
    if properties.handleTypes != CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE
        || properties.location.type_ != CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE
        || given.accessDescCount > machine.devices.len()
        || (given.accessDescCount > 0 && given.accessDescs.is_null())
    {
        return Err(INVALID);
    }
    let device = machine.device(properties.location.id).map_err(|_| INVALID)?;
    let access: Box<[_]> = match given.accessDescCount {
        0 => Box::default(),
        // SAFETY: it is not null, and the program says how many there are.
        count => unsafe { slice::from_raw_parts(given.accessDescs, count) }.into(),
    };
    let owner = current::current()?.id;
    // Nothing has an address too.
    let bytes = given.bytesize.max(1) as u64;
    let memory = graphs()?.memories.reserve(device, bytes, owner, access, is_managed)?;
    given.dptr = memory.allocation.address;
    add(node.ok_or(INVALID)?, graph, after, |_| Ok(NodeOperation::Allocate(memory)))?;
    parameters.set(given);
    Ok(())
}

/// Adds a node that frees that memory of a graph.
pub(in crate::api) fn add_free(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: Dependencies,
    pointer: CUdeviceptr,
) -> Result {
    let operation =
        |_: &'static _| graphs()?.memories.right_to_free(pointer).map(NodeOperation::Free);
    add(node, graph, after, operation)
}
