//! Other parameters for executable graphs.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;

use cuda_sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUcontext, CUevent, CUgraph, CUgraphExec,
    CUgraphExecUpdateResult as Outcome, CUgraphExecUpdateResultInfo, CUgraphNode,
    CUgraphNodeParams, CUgraphNodeType, CUresult,
};

use super::Result;
use super::arguments::{self, In, Out, handle, number};
use super::graph_parameters as given;
use crate::device::{Platform, platform};
use crate::graph::{Mismatch, Operation};

pub(super) fn cuGraphExecKernelNodeSetParams_v2(
    executable: CUgraphExec,
    node: CUgraphNode,
    parameters: Option<In<CUDA_KERNEL_NODE_PARAMS>>,
) -> Result {
    replace(executable, node, |platform| given::kernel(platform, parameters))
}

pub(super) fn cuGraphExecMemcpyNodeSetParams(
    executable: CUgraphExec,
    node: CUgraphNode,
    parameters: Option<In<CUDA_MEMCPY3D>>,
    context: CUcontext,
) -> Result {
    replace(executable, node, |platform| given::copy(platform, parameters, context))
}

pub(super) fn cuGraphExecMemsetNodeSetParams(
    executable: CUgraphExec,
    node: CUgraphNode,
    parameters: Option<In<CUDA_MEMSET_NODE_PARAMS>>,
    context: CUcontext,
) -> Result {
    replace(executable, node, |platform| given::fill(platform, parameters, context))
}

pub(super) fn cuGraphExecHostNodeSetParams(
    executable: CUgraphExec,
    node: CUgraphNode,
    parameters: Option<In<CUDA_HOST_NODE_PARAMS>>,
) -> Result {
    replace(executable, node, |_| given::host(parameters))
}

pub(super) fn cuGraphExecEventRecordNodeSetEvent(
    executable: CUgraphExec,
    node: CUgraphNode,
    event: CUevent,
) -> Result {
    replace(executable, node, |platform| given::record(platform, event))
}

pub(super) fn cuGraphExecEventWaitNodeSetEvent(
    executable: CUgraphExec,
    node: CUgraphNode,
    event: CUevent,
) -> Result {
    replace(executable, node, |platform| given::wait(platform, event))
}

pub(super) fn cuGraphExecBatchMemOpNodeSetParams(
    executable: CUgraphExec,
    node: CUgraphNode,
    parameters: Option<In<CUDA_BATCH_MEM_OP_NODE_PARAMS>>,
) -> Result {
    replace(executable, node, |platform| given::batch(platform, parameters))
}

pub(super) fn cuGraphExecChildGraphNodeSetParams(
    executable: CUgraphExec,
    node: CUgraphNode,
    child: CUgraph,
) -> Result {
    let platform = platform()?;
    let executable = arguments::executable(platform, executable)?;
    executable.update_child(number(node), &*arguments::graph(platform, child)?)
}

pub(super) fn cuGraphExecNodeSetParams(
    executable: CUgraphExec,
    node: CUgraphNode,
    parameters: In<CUgraphNodeParams>,
) -> Result {
    let all = parameters.read();
    if all.type_ == CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH {
        // SAFETY: the type says which member it is.
        let child = unsafe { all.__bindgen_anon_1.graph.graph };
        return cuGraphExecChildGraphNodeSetParams(executable, node, child);
    }
    replace(executable, node, |platform| given::any(platform, parameters))
}

pub(super) fn cuGraphExecUpdate_v2(
    executable: CUgraphExec,
    graph: CUgraph,
    out: Out<CUgraphExecUpdateResultInfo>,
) -> Result {
    let platform = platform()?;
    let failed = |error| {
        let outcome = Outcome::CU_GRAPH_EXEC_UPDATE_ERROR;
        (Mismatch { outcome, node: 0, from: 0 }, Err(error))
    };
    let found = arguments::executable(platform, executable)
        .and_then(|executable| Ok((executable, arguments::graph(platform, graph)?)));
    let (told, result) = match found {
        Err(error) => failed(error),
        Ok((_, graph)) if graph.is_being_captured() => failed(CUresult::CUDA_ERROR_INVALID_VALUE),
        Ok((executable, graph)) => match executable.update(&graph) {
            Ok(()) => {
                let outcome = Outcome::CU_GRAPH_EXEC_UPDATE_SUCCESS;
                (Mismatch { outcome, node: 0, from: 0 }, Ok(()))
            }
            Err(told) => (told, Err(CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)),
        },
    };
    out.set(CUgraphExecUpdateResultInfo {
        result: told.outcome,
        errorNode: handle(told.node),
        errorFromNode: handle(told.from),
    });
    result
}

pub(super) fn cuGraphNodeSetEnabled(
    executable: CUgraphExec,
    node: CUgraphNode,
    enables: c_uint,
) -> Result {
    arguments::executable(platform()?, executable)?.enable(number(node), enables != 0)
}

pub(super) fn cuGraphNodeGetEnabled(
    executable: CUgraphExec,
    node: CUgraphNode,
    out: Out<c_uint>,
) -> Result {
    let executable = arguments::executable(platform()?, executable)?;
    out.set(c_uint::from(executable.is_enabled(number(node))?));
    Ok(())
}

fn replace(
    executable: CUgraphExec,
    node: CUgraphNode,
    operation: impl FnOnce(&'static Platform) -> Result<Operation>,
) -> Result {
    let platform = platform()?;
    let executable = arguments::executable(platform, executable)?;
    executable.replace(number(node), operation(platform)?)
}
