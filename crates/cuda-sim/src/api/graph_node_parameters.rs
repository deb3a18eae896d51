//! Parameters of nodes, read and changed.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUevent, CUgraph, CUgraphNode, CUgraphNodeParams, CUkernelNodeAttrID,
    CUkernelNodeAttrValue, CUresult,
};

use super::Result;
use super::arguments::{self, Out, handle};
use super::graph_nodes::child_graph;
use super::graph_parameters::{self as given, read};
use super::stream_memory::listed;
use crate::device::{Platform, platform};
use crate::graph::{OF_KERNELS, Operation, Shown, Value};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(super) unsafe fn cuGraphKernelNodeGetParams_v2(
    node: CUgraphNode,
    parameters: *mut CUDA_KERNEL_NODE_PARAMS,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(parameters) }?;
    let platform = platform()?;
    let (graph, node) = arguments::node(platform, node)?;
    let Some(Operation::Kernel(call)) = graph.operation(node) else { return Err(INVALID) };
    let shown = graph.show(node, || Shown::parameters(&call)).ok_or(INVALID)?;
    out.set(given::kernel_back(platform, &call, &shown)?);
    Ok(())
}

pub(super) unsafe fn cuGraphKernelNodeSetParams_v2(
    node: CUgraphNode,
    parameters: *const CUDA_KERNEL_NODE_PARAMS,
) -> Result {
    // SAFETY: the caller's promise.
    set(node, |platform| unsafe { given::kernel(platform, parameters) })
}

pub(super) unsafe fn cuGraphMemcpyNodeGetParams(
    node: CUgraphNode,
    parameters: *mut CUDA_MEMCPY3D,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(parameters) }?;
    let Operation::Copy(copy, _) = get(node)? else { return Err(INVALID) };
    out.set(given::copy_back(&copy));
    Ok(())
}

pub(super) unsafe fn cuGraphMemcpyNodeSetParams(
    node: CUgraphNode,
    parameters: *const CUDA_MEMCPY3D,
) -> Result {
    let Operation::Copy(_, context) = get(node)? else { return Err(INVALID) };
    let context = handle(context.handle);
    // SAFETY: the caller's promise.
    set(node, |platform| unsafe { given::copy(platform, parameters, context) })
}

pub(super) unsafe fn cuGraphMemsetNodeGetParams(
    node: CUgraphNode,
    parameters: *mut CUDA_MEMSET_NODE_PARAMS,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(parameters) }?;
    let Operation::Fill(fill, _) = get(node)? else { return Err(INVALID) };
    out.set(given::fill_back(&fill));
    Ok(())
}

pub(super) unsafe fn cuGraphMemsetNodeSetParams(
    node: CUgraphNode,
    parameters: *const CUDA_MEMSET_NODE_PARAMS,
) -> Result {
    let Operation::Fill(_, context) = get(node)? else { return Err(INVALID) };
    let context = handle(context.handle);
    // SAFETY: the caller's promise.
    set(node, |platform| unsafe { given::fill(platform, parameters, context) })
}

pub(super) unsafe fn cuGraphHostNodeGetParams(
    node: CUgraphNode,
    parameters: *mut CUDA_HOST_NODE_PARAMS,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(parameters) }?;
    let Operation::Host(call) = get(node)? else { return Err(INVALID) };
    let (function, argument) = call.parts();
    out.set(CUDA_HOST_NODE_PARAMS { fn_: Some(function), userData: argument });
    Ok(())
}

pub(super) unsafe fn cuGraphHostNodeSetParams(
    node: CUgraphNode,
    parameters: *const CUDA_HOST_NODE_PARAMS,
) -> Result {
    // SAFETY: the caller's promise.
    set(node, |_| unsafe { given::host(parameters) })
}

pub(super) unsafe fn cuGraphChildGraphNodeGetGraph(
    node: CUgraphNode,
    graph: *mut CUgraph,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(graph) }?;
    out.set(handle(child_graph(node)?));
    Ok(())
}

pub(super) unsafe fn cuGraphEventRecordNodeGetEvent(
    node: CUgraphNode,
    event: *mut CUevent,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(event) }?;
    let Operation::Record(event) = get(node)? else { return Err(INVALID) };
    out.set(given::event_back(platform()?, &event));
    Ok(())
}

pub(super) unsafe fn cuGraphEventRecordNodeSetEvent(node: CUgraphNode, event: CUevent) -> Result {
    set(node, |platform| given::record(platform, event))
}

pub(super) unsafe fn cuGraphEventWaitNodeGetEvent(
    node: CUgraphNode,
    event: *mut CUevent,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(event) }?;
    let Operation::Wait(event) = get(node)? else { return Err(INVALID) };
    out.set(given::event_back(platform()?, &event));
    Ok(())
}

pub(super) unsafe fn cuGraphEventWaitNodeSetEvent(node: CUgraphNode, event: CUevent) -> Result {
    set(node, |platform| given::wait(platform, event))
}

pub(super) unsafe fn cuGraphBatchMemOpNodeGetParams(
    node: CUgraphNode,
    parameters: *mut CUDA_BATCH_MEM_OP_NODE_PARAMS,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(parameters) }?;
    let (graph, node) = arguments::node(platform()?, node)?;
    let operation = graph.operation(node);
    let Some(Operation::Batch(batch, context)) = operation else { return Err(INVALID) };
    let shown = graph.show(node, || Shown::list(batch.iter().map(listed))).ok_or(INVALID)?;
    out.set(CUDA_BATCH_MEM_OP_NODE_PARAMS {
        ctx: handle(context.handle),
        count: batch.len() as u32,
        paramArray: shown.items(),
        flags: 0,
    });
    Ok(())
}

pub(super) unsafe fn cuGraphBatchMemOpNodeSetParams(
    node: CUgraphNode,
    parameters: *const CUDA_BATCH_MEM_OP_NODE_PARAMS,
) -> Result {
    // SAFETY: the caller's promise.
    set(node, |platform| unsafe {
        let all = read(parameters)?;
        given::batch(platform, all.paramArray, all.count, all.flags, all.ctx)
    })
}

pub(super) unsafe fn cuGraphNodeSetParams(
    node: CUgraphNode,
    parameters: *mut CUgraphNodeParams,
) -> Result {
    // SAFETY: the caller's promise.
    set(node, |platform| unsafe { given::any(platform, &read(parameters)?) })
}

pub(super) unsafe fn cuGraphKernelNodeCopyAttributes(to: CUgraphNode, from: CUgraphNode) -> Result {
    let platform = platform()?;
    let ((to_graph, to), (from_graph, from)) =
        (arguments::node(platform, to)?, arguments::node(platform, from)?);
    let attributes = from_graph.with_attributes(from, |attributes| attributes.clone())?;
    to_graph.with_attributes(to, |present| *present = attributes)
}

pub(super) unsafe fn cuGraphKernelNodeGetAttribute(
    node: CUgraphNode,
    attribute: CUkernelNodeAttrID,
    value: *mut CUkernelNodeAttrValue,
) -> Result {
    // SAFETY: the caller's promise; a value is a union of 64 bytes.
    let out = unsafe { Out::new(value.cast::<Value>()) }?;
    let (graph, node) = arguments::node(platform()?, node)?;
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

pub(super) unsafe fn cuGraphKernelNodeSetAttribute(
    node: CUgraphNode,
    attribute: CUkernelNodeAttrID,
    value: *const CUkernelNodeAttrValue,
) -> Result {
    // SAFETY: the caller's promise; a value is a union of 64 bytes.
    let value = unsafe { read(value.cast::<Value>()) }?;
    let (graph, node) = arguments::node(platform()?, node)?;
    if attribute == CUkernelNodeAttrID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE {
        let cooperative = value[..4] != [0; 4];
        return graph.with_kernel(node, |call| call.shape.cooperative = cooperative);
    }
    graph.with_attributes(node, |all| all.set(attribute, value, OF_KERNELS))?
}

fn get(node: CUgraphNode) -> Result<Operation> {
    let (graph, node) = arguments::node(platform()?, node)?;
    graph.operation(node).ok_or(INVALID)
}

fn set(
    node: CUgraphNode,
    operation: impl FnOnce(&'static Platform) -> Result<Operation>,
) -> Result {
    let platform = platform()?;
    let (graph, node) = arguments::node(platform, node)?;
    graph.set_operation(node, operation(platform)?)
}
