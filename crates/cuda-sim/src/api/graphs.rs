//! Graphs: nodes, edges and what is known of them.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;
use std::iter;
use std::sync::Arc;

use cuda_sys::{
    CUgraph, CUgraphDebugDot_flags as DotFlags, CUgraphEdgeData, CUgraphNode, CUgraphNodeType,
    CUresult,
};

use super::Result;
use super::arguments::{self, Count, CountInOut, Items, List, Out, Room, handle, number};
use crate::device::{Platform, platform};
use crate::graph::{Edge, Graph, NodeId, Ports, dot};

pub(super) fn cuGraphCreate(out: Out<CUgraph>, flags: c_uint) -> Result {
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    out.set(handle(Graph::new(&platform()?.graphs)?.handle));
    Ok(())
}

pub(super) fn cuGraphDestroy(graph: CUgraph) -> Result {
    let platform = platform()?;
    let graph = arguments::graph(platform, graph)?;
    if graph.is_child() || graph.is_being_captured() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let removed = platform.graphs.graphs.remove(graph.handle);
    removed.map(drop).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

pub(super) fn cuGraphDestroyNode(node: CUgraphNode) -> Result {
    let (graph, node) = arguments::node(platform()?, node)?;
    if graph.is_being_captured() || graph.has_memory_nodes() || !graph.remove(node) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    Ok(())
}

pub(super) fn cuGraphClone(out: Out<CUgraph>, original: CUgraph) -> Result {
    out.set(handle(arguments::graph(platform()?, original)?.duplicate()?.handle));
    Ok(())
}

pub(super) fn cuGraphNodeFindInClone(
    out: Out<CUgraphNode>,
    original: CUgraphNode,
    clone: CUgraph,
) -> Result {
    let platform = platform()?;
    arguments::node(platform, original)?;
    let found = arguments::graph(platform, clone)?.copy_of(number(original));
    out.set(handle(found.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?));
    Ok(())
}

pub(super) fn cuGraphDebugDotPrint(graph: CUgraph, path: &str, flags: c_uint) -> Result {
    let graph = arguments::graph(platform()?, graph)?;
    let handles =
        DotFlags::CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES.0 | DotFlags::CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE.0;
    let written = std::fs::write(path, dot(&graph, flags & handles != 0));
    written.map_err(|error| {
        tracing::warn!(%error, path, "a graph could not be written");
        CUresult::CUDA_ERROR_OPERATING_SYSTEM
    })
}

pub(super) fn cuGraphNodeGetType(node: CUgraphNode, out: Out<CUgraphNodeType>) -> Result {
    let (graph, node) = arguments::node(platform()?, node)?;
    let operation = graph.operation(node).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    out.set(operation.node_type());
    Ok(())
}

pub(super) fn cuGraphGetNodes(
    graph: CUgraph,
    nodes: Room<CUgraphNode>,
    count: Option<CountInOut>,
) -> Result {
    let graph = arguments::graph(platform()?, graph)?;
    let count = count.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    write_nodes(nodes, &count, &graph.handles());
    Ok(())
}

pub(super) fn cuGraphGetRootNodes(
    graph: CUgraph,
    nodes: Room<CUgraphNode>,
    count: Option<CountInOut>,
) -> Result {
    let graph = arguments::graph(platform()?, graph)?;
    let count = count.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    write_nodes(nodes, &count, &graph.roots());
    Ok(())
}

pub(super) fn cuGraphGetEdges_v2(
    graph: CUgraph,
    from: Room<CUgraphNode>,
    to: Room<CUgraphNode>,
    data: Room<CUgraphEdgeData>,
    count: Option<CountInOut>,
) -> Result {
    let graph = arguments::graph(platform()?, graph)?;
    let edges = graph.edges();
    if from.is_null() != to.is_null() || (from.is_null() && !data.is_null()) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    check_lossless(&from, &data, edges.iter().map(|edge| edge.2))?;
    let count = count.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    to.of(count.room()).write(edges.iter().map(|edge| handle(edge.1)));
    data.of(count.room()).write(edges.iter().map(|edge| edge_data(edge.2)));
    let starts: Vec<_> = edges.iter().map(|edge| edge.0).collect();
    write_nodes(from, &count, &starts);
    Ok(())
}

pub(super) fn cuGraphNodeGetDependencies_v2(
    node: CUgraphNode,
    dependencies: Room<CUgraphNode>,
    data: Room<CUgraphEdgeData>,
    count: Option<CountInOut>,
) -> Result {
    let (graph, node) = arguments::node(platform()?, node)?;
    write_neighbours(dependencies, data, count, &graph.dependencies(node))
}

pub(super) fn cuGraphNodeGetDependentNodes_v2(
    node: CUgraphNode,
    dependents: Room<CUgraphNode>,
    data: Room<CUgraphEdgeData>,
    count: Option<CountInOut>,
) -> Result {
    let (graph, node) = arguments::node(platform()?, node)?;
    write_neighbours(dependents, data, count, &graph.dependents(node))
}

pub(super) fn cuGraphAddDependencies_v2(
    graph: CUgraph,
    from: List<CUgraphNode>,
    to: List<CUgraphNode>,
    data: List<CUgraphEdgeData>,
    count: Count,
) -> Result {
    let platform = platform()?;
    let graph = arguments::graph(platform, graph)?;
    graph.add_edges(&pairs(platform, &graph, [from.of(count), to.of(count)], data.of(count))?)
}

pub(super) fn cuGraphRemoveDependencies_v2(
    graph: CUgraph,
    from: List<CUgraphNode>,
    to: List<CUgraphNode>,
    data: List<CUgraphEdgeData>,
    count: Count,
) -> Result {
    let platform = platform()?;
    let graph = arguments::graph(platform, graph)?;
    graph.remove_edges(&pairs(platform, &graph, [from.of(count), to.of(count)], data.of(count))?)
}

/// The edges that a call lists: from nodes of a graph, with data or without.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for what is not a node of the graph.
pub(super) fn edges(
    platform: &Platform,
    graph: &Arc<Graph>,
    nodes: Items<CUgraphNode>,
    data: Items<CUgraphEdgeData>,
) -> Result<Vec<Edge>> {
    let nodes = nodes.iter()?.map(|node| node_of(platform, graph, node));
    if data.is_null() {
        return nodes.map(|from| Ok(Edge { from: from?, ports: Ports::default() })).collect();
    }
    let ports = data.iter()?.map(|data| match data.reserved {
        [0, 0, 0, 0, 0] => Ok(Ports { from: data.from_port, to: data.to_port, kind: data.type_ }),
        _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    });
    nodes.zip(ports).map(|(from, ports)| Ok(Edge { from: from?, ports: ports? })).collect()
}

/// The edges that a call lists by both ends.
fn pairs(
    platform: &Platform,
    graph: &Arc<Graph>,
    [from, to]: [Items<CUgraphNode>; 2],
    data: Items<CUgraphEdgeData>,
) -> Result<Vec<(NodeId, Edge)>> {
    let from = edges(platform, graph, from, data)?;
    let to = to.iter()?.map(|node| node_of(platform, graph, node));
    to.zip(from).map(|(to, from)| Ok((to?, from))).collect()
}

fn node_of(platform: &Platform, graph: &Arc<Graph>, node: CUgraphNode) -> Result<NodeId> {
    let (owner, node) = arguments::node(platform, node)?;
    Arc::ptr_eq(&owner, graph).then_some(node).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

fn edge_data(ports: Ports) -> CUgraphEdgeData {
    CUgraphEdgeData {
        from_port: ports.from,
        to_port: ports.to,
        type_: ports.kind,
        reserved: [0; 5],
    }
}

/// Refuses to leave out data of edges that is not the default.
fn check_lossless(
    nodes: &Room<CUgraphNode>,
    data: &Room<CUgraphEdgeData>,
    mut ports: impl Iterator<Item = Ports>,
) -> Result {
    if !nodes.is_null() && data.is_null() && ports.any(|ports| ports != Ports::default()) {
        return Err(CUresult::CUDA_ERROR_LOSSY_QUERY);
    }
    Ok(())
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
    write_nodes(nodes, &count, &handles);
    Ok(())
}

/// Writes handles of nodes as far as there is room, null in what is left of it, and how many were
/// written. Without room, the program learns how many there are.
///
/// It comes after what else reads how much room there is.
fn write_nodes(nodes: Room<CUgraphNode>, count: &CountInOut, handles: &[u64]) {
    if nodes.is_null() {
        count.set(handles.len());
        return;
    }
    let room = count.room();
    nodes.of(room).write(handles.iter().copied().chain(iter::repeat(0)).map(handle));
    count.set(handles.len().min(room.get()));
}
