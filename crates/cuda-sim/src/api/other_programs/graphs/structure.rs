//! Graphs made by hand: nodes, edges and what is known of them.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;
use std::sync::Arc;

use cuda_sys::{
    CUgraph, CUgraphDebugDot_flags as DotFlags, CUgraphEdgeData, CUgraphNode, CUgraphNodeType,
    CUresult,
};

use crate::api::Result;
use crate::api::arguments::{self, Count, CountInOut, Items, List, Out, Room, handle, number};
use crate::api::graphs::structure::{check_lossless, edge_data, edges, node_of, write_nodes};
use crate::graph::{GraphEdge, GraphTemplate, NodeId, Ports, dot, graphs};

pub(in crate::api) fn cuGraphCreate(out: Out<CUgraph>, flags: c_uint) -> Result {
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    out.set(handle(GraphTemplate::new(&graphs()?.table)?.handle));
    Ok(())
}

pub(in crate::api) fn cuGraphDestroyNode(node: CUgraphNode) -> Result {
    let (graph, node) = arguments::node(node)?;
    if graph.is_being_captured() || graph.has_memory_nodes() || !graph.remove(node) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    Ok(())
}

pub(in crate::api) fn cuGraphClone(out: Out<CUgraph>, original: CUgraph) -> Result {
    out.set(handle(arguments::graph(original)?.duplicate()?.handle));
    Ok(())
}

pub(in crate::api) fn cuGraphNodeFindInClone(
    out: Out<CUgraphNode>,
    original: CUgraphNode,
    clone: CUgraph,
) -> Result {
    arguments::node(original)?;
    let found = arguments::graph(clone)?.copy_of(number(original));
    out.set(handle(found.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?));
    Ok(())
}

pub(in crate::api) fn cuGraphDebugDotPrint(graph: CUgraph, path: &str, flags: c_uint) -> Result {
    let graph = arguments::graph(graph)?;
    let handles =
        DotFlags::CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES.0 | DotFlags::CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE.0;
    let written = std::fs::write(path, dot(&graph, flags & handles != 0));
    written.map_err(|error| {
        tracing::warn!(%error, path, "a graph could not be written");
        CUresult::CUDA_ERROR_OPERATING_SYSTEM
    })
}

pub(in crate::api) fn cuGraphNodeGetType(node: CUgraphNode, out: Out<CUgraphNodeType>) -> Result {
    let (graph, node) = arguments::node(node)?;
    let operation = graph.operation(node).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    out.set(operation.node_type());
    Ok(())
}

pub(in crate::api) fn cuGraphGetRootNodes(
    graph: CUgraph,
    nodes: Room<CUgraphNode>,
    count: Option<CountInOut>,
) -> Result {
    let graph = arguments::graph(graph)?;
    let count = count.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    write_nodes(nodes, &count, &graph.roots())
}

pub(in crate::api) fn cuGraphNodeGetDependencies_v2(
    node: CUgraphNode,
    dependencies: Room<CUgraphNode>,
    data: Room<CUgraphEdgeData>,
    count: Option<CountInOut>,
) -> Result {
    let (graph, node) = arguments::node(node)?;
    write_neighbours(dependencies, data, count, &graph.dependencies(node))
}

pub(in crate::api) fn cuGraphNodeGetDependentNodes_v2(
    node: CUgraphNode,
    dependents: Room<CUgraphNode>,
    data: Room<CUgraphEdgeData>,
    count: Option<CountInOut>,
) -> Result {
    let (graph, node) = arguments::node(node)?;
    write_neighbours(dependents, data, count, &graph.dependents(node))
}

pub(in crate::api) fn cuGraphAddDependencies_v2(
    graph: CUgraph,
    from: List<CUgraphNode>,
    to: List<CUgraphNode>,
    data: List<CUgraphEdgeData>,
    count: Count,
) -> Result {
    let graph = arguments::graph(graph)?;
    graph.add_edges(&pairs(&graph, [from.of(count), to.of(count)], data.of(count))?)
}

pub(in crate::api) fn cuGraphRemoveDependencies_v2(
    graph: CUgraph,
    from: List<CUgraphNode>,
    to: List<CUgraphNode>,
    data: List<CUgraphEdgeData>,
    count: Count,
) -> Result {
    let graph = arguments::graph(graph)?;
    graph.remove_edges(&pairs(&graph, [from.of(count), to.of(count)], data.of(count))?)
}

/// The edges that a call lists by both ends.
fn pairs(
    graph: &Arc<GraphTemplate>,
    [from, to]: [Items<CUgraphNode>; 2],
    data: Items<CUgraphEdgeData>,
) -> Result<Vec<(NodeId, GraphEdge)>> {
    let from = edges(graph, from, data)?;
    let to = to.iter()?.map(|node| node_of(graph, node));
    to.zip(from).map(|(to, from)| Ok((to?, from))).collect()
}

/// Writes the nodes at the other ends of edges, and what the edges carry.
fn write_neighbours(
    nodes: Room<CUgraphNode>,
    data: Room<CUgraphEdgeData>,
    count: Option<CountInOut>,
    neighbours: &[(u64, Ports)],
) -> Result {
    if nodes.is_null() && !data.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    check_lossless(&nodes, &data, neighbours.iter().map(|(_, ports)| *ports))?;
    let handles: Vec<u64> = neighbours.iter().map(|(handle, _)| *handle).collect();
    let count = count.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    data.of(count.room()).write(neighbours.iter().map(|(_, ports)| edge_data(*ports)));
    write_nodes(nodes, &count, &handles)
}
