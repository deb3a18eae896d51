//! Nodes added to graphs, by kind.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUcontext, CUevent, CUgraph, CUgraphChildGraphNodeOwnership,
    CUgraphEdgeData, CUgraphNode, CUgraphNodeParams, CUgraphNodeType as Type, CUresult,
};

use crate::api::Result;
use crate::api::arguments::{self, Count, In, InOut, List, Out, handle};
use crate::api::graphs::nodes::{Dependencies, child_of, insert};
use crate::api::other_programs::graphs::conditional_nodes::add_conditional;
use crate::api::other_programs::graphs::memory_nodes::{add_allocation, add_free};
use crate::api::other_programs::graphs::parameters as given;
use crate::device::SimulatedMachine;
use crate::graph::NodeOperation;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(in crate::api) fn cuGraphAddEmptyNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    count: Count,
) -> Result {
    let after = Dependencies::new(dependencies, count);
    add(node, graph, after, |_| Ok(NodeOperation::Empty))
}

pub(in crate::api) fn cuGraphAddHostNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    count: Count,
    parameters: Option<In<CUDA_HOST_NODE_PARAMS>>,
) -> Result {
    let after = Dependencies::new(dependencies, count);
    add(node, graph, after, |_| given::host(parameters))
}

pub(in crate::api) fn cuGraphAddKernelNode_v2(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    count: Count,
    parameters: Option<In<CUDA_KERNEL_NODE_PARAMS>>,
) -> Result {
    let after = Dependencies::new(dependencies, count);
    add(node, graph, after, |machine| given::kernel(machine, parameters))
}

pub(in crate::api) fn cuGraphAddMemcpyNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    count: Count,
    parameters: Option<In<CUDA_MEMCPY3D>>,
    context: CUcontext,
) -> Result {
    let after = Dependencies::new(dependencies, count);
    add(node, graph, after, |machine| given::copy(machine, parameters, context))
}

pub(in crate::api) fn cuGraphAddMemsetNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    count: Count,
    parameters: Option<In<CUDA_MEMSET_NODE_PARAMS>>,
    context: CUcontext,
) -> Result {
    let after = Dependencies::new(dependencies, count);
    add(node, graph, after, |machine| given::fill(machine, parameters, context))
}

pub(in crate::api) fn cuGraphAddEventRecordNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    count: Count,
    event: CUevent,
) -> Result {
    let after = Dependencies::new(dependencies, count);
    add(node, graph, after, |machine| given::record(machine, event))
}

pub(in crate::api) fn cuGraphAddEventWaitNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    count: Count,
    event: CUevent,
) -> Result {
    let after = Dependencies::new(dependencies, count);
    add(node, graph, after, |machine| given::wait(machine, event))
}

pub(in crate::api) fn cuGraphAddBatchMemOpNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    count: Count,
    parameters: Option<In<CUDA_BATCH_MEM_OP_NODE_PARAMS>>,
) -> Result {
    let operation = |machine| given::batch(machine, parameters);
    let after = Dependencies::new(dependencies, count);
    add(node, graph, after, operation)
}

pub(in crate::api) fn cuGraphAddNode_v2(
    node: Option<Out<CUgraphNode>>,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    data: List<CUgraphEdgeData>,
    count: Count,
    parameters: InOut<CUgraphNodeParams>,
) -> Result {
    let after = Dependencies::with_data(dependencies, data, count);
    let mut all = parameters.get();
    match all.type_ {
        Type::CU_GRAPH_NODE_TYPE_MEM_ALLOC => {
            // SAFETY: the type says that this is the member. The newer structure has the members of
            // the older one, and the program says of them what it says to `cuGraphAddMemAllocNode`.
            let allocation = unsafe { InOut::new((&raw mut all.__bindgen_anon_1.alloc).cast()) };
            add_allocation(node, graph, after, allocation)?;
        }
        Type::CU_GRAPH_NODE_TYPE_MEM_FREE => {
            // SAFETY: the type says that this is the member.
            let pointer = unsafe { all.__bindgen_anon_1.free.dptr };
            add_free(node.ok_or(INVALID)?, graph, after, pointer)?;
        }
        Type::CU_GRAPH_NODE_TYPE_GRAPH => {
            // SAFETY: the type says that this is the member.
            let child = unsafe { all.__bindgen_anon_1.graph };
            let clone = CUgraphChildGraphNodeOwnership::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE;
            if child.ownership != clone {
                return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
            }
            let node = node.ok_or(INVALID)?;
            let added = insert(graph, after, |_| child_of(graph, child.graph))?;
            node.set(added);
            all.__bindgen_anon_1.graph.graph = handle(child_graph(added)?);
        }
        Type::CU_GRAPH_NODE_TYPE_CONDITIONAL => {
            // SAFETY: the type says that this is the member.
            let conditional = unsafe { &mut all.__bindgen_anon_1.conditional };
            add_conditional(node.ok_or(INVALID)?, graph, after, conditional)?;
        }
        _ => {
            // SAFETY: a copy of what the program gave, of which it promises the same.
            let given = unsafe { In::new(&raw const all) };
            add(node.ok_or(INVALID)?, graph, after, |machine| given::any(machine, given))?;
        }
    }
    parameters.set(all);
    Ok(())
}

/// Adds a node that does what `operation` says, and tells the program its handle.
pub(in crate::api) fn add(
    out: Out<CUgraphNode>,
    graph: CUgraph,
    after: Dependencies,
    operation: impl FnOnce(&'static SimulatedMachine) -> Result<NodeOperation>,
) -> Result {
    out.set(insert(graph, after, operation)?);
    Ok(())
}

/// The handle of the graph that a node runs.
pub(in crate::api) fn child_graph(node: CUgraphNode) -> Result<u64> {
    let (graph, node) = arguments::node(node)?;
    match graph.operation(node) {
        Some(NodeOperation::Child(child)) => Ok(child.handle),
        _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
}
