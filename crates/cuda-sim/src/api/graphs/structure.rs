//! Nodes and edges of graphs that were captured.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::iter;
use std::sync::Arc;

use cuda_sys::{CUgraph, CUgraphEdgeData, CUgraphNode, CUresult};

use crate::api::Result;
use crate::api::arguments::{self, CountInOut, Items, Room, handle};
use crate::graph::{GraphEdge, GraphTemplate, NodeId, Ports, graphs};

pub(in crate::api) fn cuGraphDestroy(graph: CUgraph) -> Result {
    let graph = arguments::graph(graph)?;
    if graph.is_child() || graph.is_being_captured() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let destroyed = graphs()?.table.destroy(graph.handle);
    destroyed.then_some(()).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

pub(in crate::api) fn cuGraphGetNodes(
    graph: CUgraph,
    nodes: Room<CUgraphNode>,
    count: Option<CountInOut>,
) -> Result {
    let graph = arguments::graph(graph)?;
    let count = count.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    write_nodes(nodes, &count, &graph.handles())
}

pub(in crate::api) fn cuGraphGetEdges_v2(
    graph: CUgraph,
    from: Room<CUgraphNode>,
    to: Room<CUgraphNode>,
    data: Room<CUgraphEdgeData>,
    count: Option<CountInOut>,
) -> Result {
    let graph = arguments::graph(graph)?;
    let edges = graph.edges();
    if from.is_null() != to.is_null() || (from.is_null() && !data.is_null()) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    check_lossless(&from, &data, edges.iter().map(|edge| edge.2))?;
    let count = count.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    to.of(count.room()).write(edges.iter().map(|edge| handle(edge.1)));
    data.of(count.room()).write(edges.iter().map(|edge| edge_data(edge.2)));
    let starts: Vec<_> = edges.iter().map(|edge| edge.0).collect();
    write_nodes(from, &count, &starts)
}

/// The edges that a call lists: from nodes of a graph, with data or without.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for what is not a node of the graph.
pub(in crate::api) fn edges(
    graph: &Arc<GraphTemplate>,
    nodes: Items<CUgraphNode>,
    data: Items<CUgraphEdgeData>,
) -> Result<Vec<GraphEdge>> {
    let nodes = nodes.iter()?.map(|node| node_of(graph, node));
    if data.is_null() {
        return nodes.map(|from| Ok(GraphEdge { from: from?, ports: Ports::default() })).collect();
    }
    let ports = data.iter()?.map(|data| match data.reserved {
        [0, 0, 0, 0, 0] => Ok(Ports { from: data.from_port, to: data.to_port, kind: data.type_ }),
        _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    });
    nodes.zip(ports).map(|(from, ports)| Ok(GraphEdge { from: from?, ports: ports? })).collect()
}

pub(in crate::api) fn node_of(graph: &Arc<GraphTemplate>, node: CUgraphNode) -> Result<NodeId> {
    let (owner, node) = arguments::node(node)?;
    Arc::ptr_eq(&owner, graph).then_some(node).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

pub(in crate::api) fn edge_data(ports: Ports) -> CUgraphEdgeData {
    CUgraphEdgeData {
        from_port: ports.from,
        to_port: ports.to,
        type_: ports.kind,
        reserved: [0; 5],
    }
}

/// Refuses to leave out data of edges that is not the default.
pub(in crate::api) fn check_lossless(
    nodes: &Room<CUgraphNode>,
    data: &Room<CUgraphEdgeData>,
    mut ports: impl Iterator<Item = Ports>,
) -> Result {
    if !nodes.is_null() && data.is_null() && ports.any(|ports| ports != Ports::default()) {
        return Err(CUresult::CUDA_ERROR_LOSSY_QUERY);
    }
    Ok(())
}

/// Writes handles of nodes as far as there is room, null in what is left of it, and how many were
/// written. Without room, the program learns how many there are.
///
/// It comes after what else reads how much room there is.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an array with room for nothing.
pub(in crate::api) fn write_nodes(
    nodes: Room<CUgraphNode>,
    count: &CountInOut,
    handles: &[u64],
) -> Result {
    if nodes.is_null() {
        count.set(handles.len());
        return Ok(());
    }
    let room = count.room();
    if room.get() == 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    nodes.of(room).write(handles.iter().copied().chain(iter::repeat(0)).map(handle));
    count.set(handles.len().min(room.get()));
    Ok(())
}

pub(in crate::api) fn cuGraphGetEdges(
    graph: CUgraph,
    from: Room<CUgraphNode>,
    to: Room<CUgraphNode>,
    count: Option<CountInOut>,
) -> Result {
    cuGraphGetEdges_v2(graph, from, to, Room::null(), count)
}
