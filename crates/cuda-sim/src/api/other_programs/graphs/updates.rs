//! Other parameters for single nodes of executable graphs.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;

use cuda_sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUcontext, CUevent, CUgraph, CUgraphExec, CUgraphNode,
    CUgraphNodeParams, CUgraphNodeType,
};

use crate::api::Result;
use crate::api::arguments::{self, In, Out, number};
use crate::api::other_programs::graphs::parameters as given;
use crate::device::{SimulatedMachine, machine};
use crate::graph::NodeOperation;

pub(in crate::api) fn cuGraphExecKernelNodeSetParams_v2(
    executable: CUgraphExec,
    node: CUgraphNode,
    parameters: Option<In<CUDA_KERNEL_NODE_PARAMS>>,
) -> Result {
    replace(executable, node, |machine| given::kernel(machine, parameters))
}

pub(in crate::api) fn cuGraphExecMemcpyNodeSetParams(
    executable: CUgraphExec,
    node: CUgraphNode,
    parameters: Option<In<CUDA_MEMCPY3D>>,
    context: CUcontext,
) -> Result {
    replace(executable, node, |machine| given::copy(machine, parameters, context))
}

pub(in crate::api) fn cuGraphExecMemsetNodeSetParams(
    executable: CUgraphExec,
    node: CUgraphNode,
    parameters: Option<In<CUDA_MEMSET_NODE_PARAMS>>,
    context: CUcontext,
) -> Result {
    replace(executable, node, |machine| given::fill(machine, parameters, context))
}

pub(in crate::api) fn cuGraphExecHostNodeSetParams(
    executable: CUgraphExec,
    node: CUgraphNode,
    parameters: Option<In<CUDA_HOST_NODE_PARAMS>>,
) -> Result {
    replace(executable, node, |_| given::host(parameters))
}

pub(in crate::api) fn cuGraphExecEventRecordNodeSetEvent(
    executable: CUgraphExec,
    node: CUgraphNode,
    event: CUevent,
) -> Result {
    replace(executable, node, |machine| given::record(machine, event))
}

pub(in crate::api) fn cuGraphExecEventWaitNodeSetEvent(
    executable: CUgraphExec,
    node: CUgraphNode,
    event: CUevent,
) -> Result {
    replace(executable, node, |machine| given::wait(machine, event))
}

pub(in crate::api) fn cuGraphExecBatchMemOpNodeSetParams(
    executable: CUgraphExec,
    node: CUgraphNode,
    parameters: Option<In<CUDA_BATCH_MEM_OP_NODE_PARAMS>>,
) -> Result {
    replace(executable, node, |machine| given::batch(machine, parameters))
}

pub(in crate::api) fn cuGraphExecChildGraphNodeSetParams(
    executable: CUgraphExec,
    node: CUgraphNode,
    child: CUgraph,
) -> Result {
    let executable = arguments::executable(executable)?;
    executable.update_child(number(node), &*arguments::graph(child)?)
}

pub(in crate::api) fn cuGraphExecNodeSetParams(
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
    replace(executable, node, |machine| given::any(machine, parameters))
}

pub(in crate::api) fn cuGraphNodeSetEnabled(
    executable: CUgraphExec,
    node: CUgraphNode,
    enables: c_uint,
) -> Result {
    arguments::executable(executable)?.enable(number(node), enables != 0)
}

pub(in crate::api) fn cuGraphNodeGetEnabled(
    executable: CUgraphExec,
    node: CUgraphNode,
    out: Out<c_uint>,
) -> Result {
    let executable = arguments::executable(executable)?;
    out.set(c_uint::from(executable.is_enabled(number(node))?));
    Ok(())
}

fn replace(
    executable: CUgraphExec,
    node: CUgraphNode,
    operation: impl FnOnce(&'static SimulatedMachine) -> Result<NodeOperation>,
) -> Result {
    let machine = machine()?;
    let executable = arguments::executable(executable)?;
    executable.replace(number(node), operation(machine)?)
}
