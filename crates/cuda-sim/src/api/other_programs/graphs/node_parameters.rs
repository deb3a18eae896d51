//! Parameters of nodes, read and changed.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUevent, CUgraph, CUgraphNode, CUgraphNodeParams, CUkernelNodeAttrID,
    CUkernelNodeAttrValue, CUresult,
};

use crate::api::Result;
use crate::api::arguments::{self, In, Out, handle};
use crate::api::other_programs::graphs::nodes::child_graph;
use crate::api::other_programs::graphs::parameters as given;
use crate::api::other_programs::streams::memory_operations::listed;
use crate::device::{LaunchAttributeValue, OF_KERNELS, SimulatedMachine, machine};
use crate::graph::{NodeOperation, Shown};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(in crate::api) fn cuGraphKernelNodeGetParams_v2(
    node: CUgraphNode,
    out: Out<CUDA_KERNEL_NODE_PARAMS>,
) -> Result {
    let machine = machine()?;
    let (graph, node) = arguments::node(node)?;
    let Some(NodeOperation::Kernel(call)) = graph.operation(node) else { return Err(INVALID) };
    let shown = graph.show(node, || Shown::parameters(&call)).ok_or(INVALID)?;
    out.set(given::kernel_back(machine, &call, &shown)?);
    Ok(())
}

pub(in crate::api) fn cuGraphKernelNodeSetParams_v2(
    node: CUgraphNode,
    parameters: Option<In<CUDA_KERNEL_NODE_PARAMS>>,
) -> Result {
    set(node, |machine| given::kernel(machine, parameters))
}

pub(in crate::api) fn cuGraphMemcpyNodeGetParams(
    node: CUgraphNode,
    out: Out<CUDA_MEMCPY3D>,
) -> Result {
    let NodeOperation::Copy(copy, _) = get(node)? else { return Err(INVALID) };
    out.set(given::copy_back(&copy));
    Ok(())
}

pub(in crate::api) fn cuGraphMemcpyNodeSetParams(
    node: CUgraphNode,
    parameters: Option<In<CUDA_MEMCPY3D>>,
) -> Result {
    let NodeOperation::Copy(_, context) = get(node)? else { return Err(INVALID) };
    let context = handle(context.handle);
    set(node, |machine| given::copy(machine, parameters, context))
}

pub(in crate::api) fn cuGraphMemsetNodeGetParams(
    node: CUgraphNode,
    out: Out<CUDA_MEMSET_NODE_PARAMS>,
) -> Result {
    let NodeOperation::Fill(fill, _) = get(node)? else { return Err(INVALID) };
    out.set(given::fill_back(&fill));
    Ok(())
}

pub(in crate::api) fn cuGraphMemsetNodeSetParams(
    node: CUgraphNode,
    parameters: Option<In<CUDA_MEMSET_NODE_PARAMS>>,
) -> Result {
    let NodeOperation::Fill(_, context) = get(node)? else { return Err(INVALID) };
    let context = handle(context.handle);
    set(node, |machine| given::fill(machine, parameters, context))
}

pub(in crate::api) fn cuGraphHostNodeGetParams(
    node: CUgraphNode,
    out: Out<CUDA_HOST_NODE_PARAMS>,
) -> Result {
    let NodeOperation::Host(call) = get(node)? else { return Err(INVALID) };
    let (function, argument) = call.parts();
    out.set(CUDA_HOST_NODE_PARAMS { fn_: Some(function), userData: argument });
    Ok(())
}

pub(in crate::api) fn cuGraphHostNodeSetParams(
    node: CUgraphNode,
    parameters: Option<In<CUDA_HOST_NODE_PARAMS>>,
) -> Result {
    set(node, |_| given::host(parameters))
}

pub(in crate::api) fn cuGraphChildGraphNodeGetGraph(
    node: CUgraphNode,
    out: Out<CUgraph>,
) -> Result {
    out.set(handle(child_graph(node)?));
    Ok(())
}

pub(in crate::api) fn cuGraphEventRecordNodeGetEvent(
    node: CUgraphNode,
    out: Out<CUevent>,
) -> Result {
    let NodeOperation::Record(event) = get(node)? else { return Err(INVALID) };
    out.set(given::event_back(machine()?, &event));
    Ok(())
}

pub(in crate::api) fn cuGraphEventRecordNodeSetEvent(node: CUgraphNode, event: CUevent) -> Result {
    set(node, |machine| given::record(machine, event))
}

pub(in crate::api) fn cuGraphEventWaitNodeGetEvent(node: CUgraphNode, out: Out<CUevent>) -> Result {
    let NodeOperation::Wait(event) = get(node)? else { return Err(INVALID) };
    out.set(given::event_back(machine()?, &event));
    Ok(())
}

pub(in crate::api) fn cuGraphEventWaitNodeSetEvent(node: CUgraphNode, event: CUevent) -> Result {
    set(node, |machine| given::wait(machine, event))
}

pub(in crate::api) fn cuGraphBatchMemOpNodeGetParams(
    node: CUgraphNode,
    out: Out<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Result {
    let (graph, node) = arguments::node(node)?;
    let operation = graph.operation(node);
    let Some(NodeOperation::Batch(batch, context)) = operation else { return Err(INVALID) };
    let shown = graph.show(node, || Shown::list(batch.iter().map(listed))).ok_or(INVALID)?;
    out.set(CUDA_BATCH_MEM_OP_NODE_PARAMS {
        ctx: handle(context.handle),
        count: batch.len() as u32,
        paramArray: shown.items(),
        flags: 0,
    });
    Ok(())
}

pub(in crate::api) fn cuGraphBatchMemOpNodeSetParams(
    node: CUgraphNode,
    parameters: Option<In<CUDA_BATCH_MEM_OP_NODE_PARAMS>>,
) -> Result {
    set(node, |machine| given::batch(machine, parameters))
}

pub(in crate::api) fn cuGraphNodeSetParams(
    node: CUgraphNode,
    parameters: Option<In<CUgraphNodeParams>>,
) -> Result {
    set(node, |machine| given::any(machine, parameters.ok_or(INVALID)?))
}

pub(in crate::api) fn cuGraphKernelNodeCopyAttributes(
    to: CUgraphNode,
    from: CUgraphNode,
) -> Result {
    let ((to_graph, to), (from_graph, from)) = (arguments::node(to)?, arguments::node(from)?);
    let attributes = from_graph.with_attributes(from, |attributes| attributes.clone())?;
    to_graph.with_attributes(to, |present| *present = attributes)
}

pub(in crate::api) fn cuGraphKernelNodeGetAttribute(
    node: CUgraphNode,
    attribute: CUkernelNodeAttrID,
    value: Out<CUkernelNodeAttrValue>,
) -> Result {
    let out = value.cast::<LaunchAttributeValue>();
    let (graph, node) = arguments::node(node)?;
    if attribute == CUkernelNodeAttrID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE {
        let cooperative = graph.with_kernel(node, |call| call.shape.cooperative)?;
        let mut value = [0; 64];
        value[0] = u8::from(cooperative);
        out.set(value);
        return Ok(());
    }
    out.set(graph.with_attributes(node, |all| all.get(attribute, OF_KERNELS))??);
    Ok(())
}

pub(in crate::api) fn cuGraphKernelNodeSetAttribute(
    node: CUgraphNode,
    attribute: CUkernelNodeAttrID,
    value: In<CUkernelNodeAttrValue>,
) -> Result {
    let value: LaunchAttributeValue = value.bytes();
    let (graph, node) = arguments::node(node)?;
    if attribute == CUkernelNodeAttrID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE {
        let cooperative = value[..4] != [0; 4];
        return graph.with_kernel(node, |call| call.shape.cooperative = cooperative);
    }
    graph.with_attributes(node, |all| all.set(attribute, value, OF_KERNELS))?
}

fn get(node: CUgraphNode) -> Result<NodeOperation> {
    let (graph, node) = arguments::node(node)?;
    graph.operation(node).ok_or(INVALID)
}

fn set(
    node: CUgraphNode,
    operation: impl FnOnce(&'static SimulatedMachine) -> Result<NodeOperation>,
) -> Result {
    let machine = machine()?;
    let (graph, node) = arguments::node(node)?;
    graph.set_operation(node, operation(machine)?)
}
