//! Nodes that run graphs if a value says so, and the handles of such values.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;

use cuda_sys::{
    CUDA_CONDITIONAL_NODE_PARAMS, CUcontext, CUgraph, CUgraphConditionalHandle, CUgraphNode,
    CUresult,
};

use crate::api::Result;
use crate::api::arguments::{self, Out};
use crate::api::graphs::nodes::Dependencies;
use crate::api::other_programs::graphs::nodes::add;
use crate::api::other_programs::graphs::parameters::context_or_current;
use crate::device::machine;
use crate::graph::{Conditional, ConditionalValue, NodeOperation, graphs};

/// `CU_GRAPH_COND_ASSIGN_DEFAULT`: each launch of the graph sets the value.
const ASSIGN_DEFAULT: c_uint = 1;

pub(in crate::api) fn cuGraphConditionalHandleCreate(
    out: Out<CUgraphConditionalHandle>,
    graph: CUgraph,
    context: CUcontext,
    default: c_uint,
    flags: c_uint,
) -> Result {
    let graph = arguments::graph(graph)?;
    if flags & !ASSIGN_DEFAULT != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let context = context_or_current(machine()?, context)?;
    let value = ConditionalValue::new(context, (flags == ASSIGN_DEFAULT).then_some(default))?;
    out.set(value.handle());
    graph.add_conditional(value);
    Ok(())
}

/// Adds a node with empty bodies, and tells the program their handles.
pub(in crate::api) fn add_conditional(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: Dependencies,
    parameters: &mut CUDA_CONDITIONAL_NODE_PARAMS,
) -> Result {
    let value = arguments::graph(graph)?.conditional(parameters.handle)?;
    let (kind, size) = (parameters.type_, parameters.size as usize);
    let conditional = Conditional::new(&graphs()?.table, value, kind, size)?;
    // A graph's handle is its number, so the list is one of handles.
    let bodies = conditional.handles().as_ptr().cast_mut().cast();
    add(node, graph, after, |_| Ok(NodeOperation::Conditional(conditional)))?;
    parameters.phGraph_out = bodies;
    Ok(())
}
