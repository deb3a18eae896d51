//! Adding nodes to graphs, by kind.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUcontext, CUevent, CUgraph, CUgraphChildGraphNodeOwnership,
    CUgraphEdgeData, CUgraphNode, CUgraphNodeParams, CUgraphNodeType as Type, CUresult,
};

use super::Result;
use super::arguments::{self, Out, handle};
use super::graph_memory::{add_allocation, add_free};
use super::graph_parameters::{self as given, read};
use super::graphs::{edges, set_node};
use crate::device::{Platform, platform};
use crate::graph::Operation;

/// The dependencies that a call lists.
#[derive(Clone, Copy)]
pub(super) struct After {
    pub(super) nodes: *const CUgraphNode,
    pub(super) data: *const CUgraphEdgeData,
    pub(super) count: usize,
}

pub(super) unsafe fn cuGraphAddEmptyNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
) -> Result {
    let after = after(dependencies, count);
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, after, |_| Ok(Operation::Empty)) }
}

pub(super) unsafe fn cuGraphAddHostNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    parameters: *const CUDA_HOST_NODE_PARAMS,
) -> Result {
    let after = after(dependencies, count);
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, after, |_| given::host(parameters)) }
}

pub(super) unsafe fn cuGraphAddKernelNode_v2(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    parameters: *const CUDA_KERNEL_NODE_PARAMS,
) -> Result {
    let after = after(dependencies, count);
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, after, |platform| given::kernel(platform, parameters)) }
}

pub(super) unsafe fn cuGraphAddMemcpyNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    parameters: *const CUDA_MEMCPY3D,
    context: CUcontext,
) -> Result {
    let after = after(dependencies, count);
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, after, |platform| given::copy(platform, parameters, context)) }
}

pub(super) unsafe fn cuGraphAddMemsetNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    parameters: *const CUDA_MEMSET_NODE_PARAMS,
    context: CUcontext,
) -> Result {
    let after = after(dependencies, count);
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, after, |platform| given::fill(platform, parameters, context)) }
}

pub(super) unsafe fn cuGraphAddEventRecordNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    event: CUevent,
) -> Result {
    let after = after(dependencies, count);
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, after, |platform| given::record(platform, event)) }
}

pub(super) unsafe fn cuGraphAddEventWaitNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    event: CUevent,
) -> Result {
    let after = after(dependencies, count);
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, after, |platform| given::wait(platform, event)) }
}

pub(super) unsafe fn cuGraphAddBatchMemOpNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    parameters: *const CUDA_BATCH_MEM_OP_NODE_PARAMS,
) -> Result {
    let operation = |platform| {
        // SAFETY: the caller's promise.
        unsafe {
            let all = read(parameters)?;
            given::batch(platform, all.paramArray, all.count, all.flags, all.ctx)
        }
    };
    let after = after(dependencies, count);
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, after, operation) }
}

pub(super) unsafe fn cuGraphAddChildGraphNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    child: CUgraph,
) -> Result {
    let after = after(dependencies, count);
    // SAFETY: the caller's promise.
    unsafe { add(node, graph, after, |platform| child_of(platform, graph, child)) }
}

pub(super) unsafe fn cuGraphAddNode_v2(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    count: usize,
    parameters: *mut CUgraphNodeParams,
) -> Result {
    let after = After { nodes: dependencies, data, count };
    // SAFETY: the caller's promise.
    let place = unsafe { Out::new(parameters) }?;
    // SAFETY: as above.
    let mut all = unsafe { read(parameters) }?;
    // SAFETY: the type says which member it is, and the caller vouches for what it points to.
    unsafe {
        match all.type_ {
            Type::CU_GRAPH_NODE_TYPE_MEM_ALLOC => {
                let mut allocation = all.__bindgen_anon_1.alloc;
                add_allocation(node, graph, after, (&raw mut allocation).cast())?;
                all.__bindgen_anon_1.alloc = allocation;
            }
            Type::CU_GRAPH_NODE_TYPE_MEM_FREE => {
                add_free(node, graph, after, all.__bindgen_anon_1.free.dptr)?;
            }
            Type::CU_GRAPH_NODE_TYPE_GRAPH => {
                let child = all.__bindgen_anon_1.graph;
                let clone = CUgraphChildGraphNodeOwnership::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE;
                if child.ownership != clone {
                    return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
                }
                add(node, graph, after, |platform| child_of(platform, graph, child.graph))?;
                all.__bindgen_anon_1.graph.graph = handle(child_graph(node.read_unaligned())?);
            }
            _ => add(node, graph, after, |platform| given::any(platform, &all))?,
        }
    }
    place.set(all);
    Ok(())
}

/// Adds a node that does what `operation` says.
///
/// # Safety
/// `node` is null or writable; what `after` lists is there.
pub(super) unsafe fn add(
    node: *mut CUgraphNode,
    graph: CUgraph,
    after: After,
    operation: impl FnOnce(&'static Platform) -> Result<Operation>,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(node) }?;
    let platform = platform()?;
    let graph = arguments::graph(platform, graph)?;
    // SAFETY: as above.
    let edges = unsafe { edges(platform, &graph, after.nodes, after.data, after.count) }?;
    let added = graph.add(operation(platform)?, edges)?;
    set_node(&out, &graph, added);
    Ok(())
}

pub(super) fn after(nodes: *const CUgraphNode, count: usize) -> After {
    After { nodes, data: std::ptr::null(), count }
}

/// The handle of the graph that a node runs.
pub(super) fn child_graph(node: CUgraphNode) -> Result<u64> {
    let (graph, node) = arguments::node(platform()?, node)?;
    match graph.operation(node) {
        Some(Operation::Child(child)) => Ok(child.handle),
        _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
}

fn child_of(platform: &Platform, parent: CUgraph, child: CUgraph) -> Result<Operation> {
    let child = arguments::graph(platform, child)?;
    if parent == handle(child.handle) || child.is_being_captured() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    Ok(Operation::Child(child.duplicate()?.into_child()))
}
