//! Older functions for graphs and captures: edges had no data, kernels no contexts.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_char;
use std::ptr;

use cuda_sys::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v1, CUgraph, CUgraphExec,
    CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo, CUgraphNode, CUgraphNodeParams, CUresult,
    CUstream, CUstreamCaptureMode, CUstreamCaptureStatus, cuuint64_t,
};

use crate::api::Result;
use crate::api::arguments::{Count, CountInOut, In, InOut, List, Out, Room};
use crate::api::graphs::executables::cuGraphInstantiateWithFlags;
use crate::api::graphs::updates::cuGraphExecUpdate_v2;
use crate::api::other_programs::graphs::node_parameters::{
    cuGraphKernelNodeGetParams_v2, cuGraphKernelNodeSetParams_v2,
};
use crate::api::other_programs::graphs::nodes::{cuGraphAddKernelNode_v2, cuGraphAddNode_v2};
use crate::api::other_programs::graphs::structure::{
    cuGraphAddDependencies_v2, cuGraphNodeGetDependencies_v2, cuGraphNodeGetDependentNodes_v2,
    cuGraphRemoveDependencies_v2,
};
use crate::api::other_programs::graphs::updates::cuGraphExecKernelNodeSetParams_v2;
use crate::api::streams::captures::{cuStreamBeginCapture_v2, cuStreamGetCaptureInfo_v2};

/// The function before CUDA 10.1, when there was one mode.
pub(in crate::api) fn cuStreamBeginCapture(stream: CUstream) -> Result {
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    cuStreamBeginCapture_v2(stream, mode)
}

pub(in crate::api) fn cuStreamGetCaptureInfo(
    stream: CUstream,
    status: Out<CUstreamCaptureStatus>,
    id: Option<Out<cuuint64_t>>,
) -> Result {
    cuStreamGetCaptureInfo_v2(stream, status, id, None, None, None)
}

pub(in crate::api) fn cuGraphAddDependencies(
    graph: CUgraph,
    from: List<CUgraphNode>,
    to: List<CUgraphNode>,
    count: Count,
) -> Result {
    cuGraphAddDependencies_v2(graph, from, to, List::null(), count)
}

pub(in crate::api) fn cuGraphRemoveDependencies(
    graph: CUgraph,
    from: List<CUgraphNode>,
    to: List<CUgraphNode>,
    count: Count,
) -> Result {
    cuGraphRemoveDependencies_v2(graph, from, to, List::null(), count)
}

pub(in crate::api) fn cuGraphNodeGetDependencies(
    node: CUgraphNode,
    dependencies: Room<CUgraphNode>,
    count: Option<CountInOut>,
) -> Result {
    cuGraphNodeGetDependencies_v2(node, dependencies, Room::null(), count)
}

pub(in crate::api) fn cuGraphNodeGetDependentNodes(
    node: CUgraphNode,
    dependents: Room<CUgraphNode>,
    count: Option<CountInOut>,
) -> Result {
    cuGraphNodeGetDependentNodes_v2(node, dependents, Room::null(), count)
}

pub(in crate::api) fn cuGraphAddNode(
    node: Option<Out<CUgraphNode>>,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    count: Count,
    parameters: InOut<CUgraphNodeParams>,
) -> Result {
    cuGraphAddNode_v2(node, graph, dependencies, List::null(), count, parameters)
}

pub(in crate::api) fn cuGraphAddKernelNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    count: Count,
    parameters: In<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Result {
    with_newer(parameters, |newer| {
        cuGraphAddKernelNode_v2(node, graph, dependencies, count, Some(newer))
    })
}

pub(in crate::api) fn cuGraphKernelNodeGetParams(
    node: CUgraphNode,
    out: Out<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Result {
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
    cuGraphKernelNodeGetParams_v2(node, Out::from(&mut newer))?;
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

pub(in crate::api) fn cuGraphKernelNodeSetParams(
    node: CUgraphNode,
    parameters: In<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Result {
    with_newer(parameters, |newer| cuGraphKernelNodeSetParams_v2(node, Some(newer)))
}

pub(in crate::api) fn cuGraphExecKernelNodeSetParams(
    executable: CUgraphExec,
    node: CUgraphNode,
    parameters: In<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Result {
    with_newer(parameters, |newer| cuGraphExecKernelNodeSetParams_v2(executable, node, Some(newer)))
}

pub(in crate::api) fn cuGraphInstantiate(
    executable: Option<Out<CUgraphExec>>,
    graph: CUgraph,
    error_node: Option<Out<CUgraphNode>>,
    log: Room<c_char>,
    length: Count,
) -> Result {
    cuGraphInstantiate_v2(executable, graph, error_node, log, length)
}

pub(in crate::api) fn cuGraphInstantiate_v2(
    executable: Option<Out<CUgraphExec>>,
    graph: CUgraph,
    error_node: Option<Out<CUgraphNode>>,
    log: Room<c_char>,
    length: Count,
) -> Result {
    // A program that does not care for the log passes null.
    let _ = log.of(length).write_text("");
    error_node.into_iter().for_each(|out| out.set(ptr::null_mut()));
    let executable = executable.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    cuGraphInstantiateWithFlags(executable, graph, 0)
}

pub(in crate::api) fn cuGraphExecUpdate(
    executable: CUgraphExec,
    graph: CUgraph,
    node: Option<Out<CUgraphNode>>,
    outcome: Out<CUgraphExecUpdateResult>,
) -> Result {
    let mut info = CUgraphExecUpdateResultInfo {
        result: CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR,
        errorNode: ptr::null_mut(),
        errorFromNode: ptr::null_mut(),
    };
    let updated = cuGraphExecUpdate_v2(executable, graph, Out::from(&mut info));
    outcome.set(info.result);
    node.into_iter().for_each(|out| out.set(info.errorNode));
    updated
}

/// Hands on a kernel node's parameters with the members that they have got since.
fn with_newer<R>(
    older: In<CUDA_KERNEL_NODE_PARAMS_v1>,
    call: impl FnOnce(In<CUDA_KERNEL_NODE_PARAMS>) -> R,
) -> R {
    let given = older.read();
    let newer = CUDA_KERNEL_NODE_PARAMS {
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
    };
    // SAFETY: what the members point to is what those of `older` point to.
    call(unsafe { In::new(&raw const newer) })
}
