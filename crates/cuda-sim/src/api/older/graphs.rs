//! Older functions for graphs and captures: edges had no data, kernels no contexts.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_char, c_uint};
use std::ptr;

use cuda_sys::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v1, CUgraph, CUgraphExec,
    CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo, CUgraphNode, CUgraphNodeParams, CUstream,
    CUstreamCaptureMode, CUstreamCaptureStatus, cuuint64_t,
};

use super::super::Result;
use super::super::arguments::Out;
use super::super::graph_parameters::read;
use super::super::{
    capture, graph_exec, graph_node_parameters, graph_nodes, graph_updates, graphs,
};

/// Before CUDA 10.1, when there was one mode.
pub(in super::super) unsafe fn cuStreamBeginCapture(stream: CUstream) -> Result {
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    // SAFETY: the caller's promise, here and below.
    unsafe { capture::cuStreamBeginCapture_v2(stream, mode) }
}

pub(in super::super) unsafe fn cuStreamGetCaptureInfo(
    stream: CUstream,
    status: *mut CUstreamCaptureStatus,
    id: *mut cuuint64_t,
) -> Result {
    let none = ptr::null_mut();
    // SAFETY: the caller's promise.
    unsafe { cuStreamGetCaptureInfo_v2(stream, status, id, none, ptr::null_mut(), ptr::null_mut()) }
}

pub(in super::super) unsafe fn cuStreamGetCaptureInfo_v2(
    stream: CUstream,
    status: *mut CUstreamCaptureStatus,
    id: *mut cuuint64_t,
    graph: *mut CUgraph,
    dependencies: *mut *const CUgraphNode,
    count: *mut usize,
) -> Result {
    let data = ptr::null_mut();
    // SAFETY: the caller's promise.
    unsafe {
        capture::cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, data, count)
    }
}

pub(in super::super) unsafe fn cuStreamUpdateCaptureDependencies(
    stream: CUstream,
    dependencies: *mut CUgraphNode,
    count: usize,
    flags: c_uint,
) -> Result {
    let data = ptr::null();
    // SAFETY: the caller's promise.
    unsafe {
        capture::cuStreamUpdateCaptureDependencies_v2(stream, dependencies, data, count, flags)
    }
}

pub(in super::super) unsafe fn cuGraphAddDependencies(
    graph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    count: usize,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { graphs::cuGraphAddDependencies_v2(graph, from, to, ptr::null(), count) }
}

pub(in super::super) unsafe fn cuGraphRemoveDependencies(
    graph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    count: usize,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { graphs::cuGraphRemoveDependencies_v2(graph, from, to, ptr::null(), count) }
}

pub(in super::super) unsafe fn cuGraphGetEdges(
    graph: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    count: *mut usize,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { graphs::cuGraphGetEdges_v2(graph, from, to, ptr::null_mut(), count) }
}

pub(in super::super) unsafe fn cuGraphNodeGetDependencies(
    node: CUgraphNode,
    dependencies: *mut CUgraphNode,
    count: *mut usize,
) -> Result {
    let data = ptr::null_mut();
    // SAFETY: the caller's promise.
    unsafe { graphs::cuGraphNodeGetDependencies_v2(node, dependencies, data, count) }
}

pub(in super::super) unsafe fn cuGraphNodeGetDependentNodes(
    node: CUgraphNode,
    dependents: *mut CUgraphNode,
    count: *mut usize,
) -> Result {
    let data = ptr::null_mut();
    // SAFETY: the caller's promise.
    unsafe { graphs::cuGraphNodeGetDependentNodes_v2(node, dependents, data, count) }
}

pub(in super::super) unsafe fn cuGraphAddNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    parameters: *mut CUgraphNodeParams,
) -> Result {
    let data = ptr::null();
    // SAFETY: the caller's promise.
    unsafe { graph_nodes::cuGraphAddNode_v2(node, graph, dependencies, data, count, parameters) }
}

pub(in super::super) unsafe fn cuGraphAddKernelNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    parameters: *const CUDA_KERNEL_NODE_PARAMS_v1,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe {
        let newer = newer(parameters)?;
        graph_nodes::cuGraphAddKernelNode_v2(node, graph, dependencies, count, &newer)
    }
}

pub(in super::super) unsafe fn cuGraphKernelNodeGetParams(
    node: CUgraphNode,
    parameters: *mut CUDA_KERNEL_NODE_PARAMS_v1,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(parameters) }?;
    let mut newer = CUDA_KERNEL_NODE_PARAMS {
        func: ptr::null_mut(),
        gridDimX: 0,
        gridDimY: 0,
        gridDimZ: 0,
        blockDimX: 0,
        blockDimY: 0,
        blockDimZ: 0,
        sharedMemBytes: 0,
        kernelParams: ptr::null_mut(),
        extra: ptr::null_mut(),
        kern: ptr::null_mut(),
        ctx: ptr::null_mut(),
    };
    // SAFETY: the place is ours.
    unsafe { graph_node_parameters::cuGraphKernelNodeGetParams_v2(node, &mut newer) }?;
    out.set(CUDA_KERNEL_NODE_PARAMS_v1 {
        func: newer.func,
        gridDimX: newer.gridDimX,
        gridDimY: newer.gridDimY,
        gridDimZ: newer.gridDimZ,
        blockDimX: newer.blockDimX,
        blockDimY: newer.blockDimY,
        blockDimZ: newer.blockDimZ,
        sharedMemBytes: newer.sharedMemBytes,
        kernelParams: newer.kernelParams,
        extra: newer.extra,
    });
    Ok(())
}

pub(in super::super) unsafe fn cuGraphKernelNodeSetParams(
    node: CUgraphNode,
    parameters: *const CUDA_KERNEL_NODE_PARAMS_v1,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { graph_node_parameters::cuGraphKernelNodeSetParams_v2(node, &newer(parameters)?) }
}

pub(in super::super) unsafe fn cuGraphExecKernelNodeSetParams(
    executable: CUgraphExec,
    node: CUgraphNode,
    parameters: *const CUDA_KERNEL_NODE_PARAMS_v1,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe {
        graph_updates::cuGraphExecKernelNodeSetParams_v2(executable, node, &newer(parameters)?)
    }
}

pub(in super::super) unsafe fn cuGraphInstantiate(
    executable: *mut CUgraphExec,
    graph: CUgraph,
    error_node: *mut CUgraphNode,
    log: *mut c_char,
    length: usize,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { cuGraphInstantiate_v2(executable, graph, error_node, log, length) }
}

pub(in super::super) unsafe fn cuGraphInstantiate_v2(
    executable: *mut CUgraphExec,
    graph: CUgraph,
    error_node: *mut CUgraphNode,
    log: *mut c_char,
    length: usize,
) -> Result {
    // SAFETY: the caller's promise. A program that does not care for the log passes null.
    let _ = unsafe { super::super::arguments::write_text(log, length, "") };
    // SAFETY: as above.
    if let Ok(out) = unsafe { Out::new(error_node) } {
        out.set(ptr::null_mut());
    }
    // SAFETY: as above.
    unsafe { graph_exec::cuGraphInstantiateWithFlags(executable, graph, 0) }
}

pub(in super::super) unsafe fn cuGraphExecUpdate(
    executable: CUgraphExec,
    graph: CUgraph,
    error_node: *mut CUgraphNode,
    result: *mut CUgraphExecUpdateResult,
) -> Result {
    // SAFETY: the caller's promise.
    let (node, outcome) = unsafe { (Out::new(error_node), Out::new(result)?) };
    let mut info = CUgraphExecUpdateResultInfo {
        result: CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR,
        errorNode: ptr::null_mut(),
        errorFromNode: ptr::null_mut(),
    };
    // SAFETY: the place is ours.
    let updated = unsafe { graph_updates::cuGraphExecUpdate_v2(executable, graph, &mut info) };
    outcome.set(info.result);
    node.into_iter().for_each(|out| out.set(info.errorNode));
    updated
}

/// # Safety
/// `given` is null or readable.
unsafe fn newer(given: *const CUDA_KERNEL_NODE_PARAMS_v1) -> Result<CUDA_KERNEL_NODE_PARAMS> {
    // SAFETY: the caller's promise.
    let given = unsafe { read(given) }?;
    Ok(CUDA_KERNEL_NODE_PARAMS {
        func: given.func,
        gridDimX: given.gridDimX,
        gridDimY: given.gridDimY,
        gridDimZ: given.gridDimZ,
        blockDimX: given.blockDimX,
        blockDimY: given.blockDimY,
        blockDimZ: given.blockDimZ,
        sharedMemBytes: given.sharedMemBytes,
        kernelParams: given.kernelParams,
        extra: given.extra,
        kern: ptr::null_mut(),
        ctx: ptr::null_mut(),
    })
}
