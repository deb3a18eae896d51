//! Graphs: nodes, edges and what is known of them.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_char, c_uint};
use std::sync::Arc;

use cuda_sys::{
    CUgraph, CUgraphDebugDot_flags as DotFlags, CUgraphEdgeData, CUgraphNode, CUgraphNodeType,
    CUresult,
};

use super::Result;
use super::arguments::{self, Out, handle, number, text};
use crate::device::{Platform, platform};
use crate::graph::{Edge, Graph, NodeId, Ports, dot};

pub(super) unsafe fn cuGraphCreate(graph: *mut CUgraph, flags: c_uint) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(graph) }?;
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    out.set(handle(Graph::new(&platform()?.graphs)?.handle));
    Ok(())
}

pub(super) unsafe fn cuGraphDestroy(graph: CUgraph) -> Result {
    let platform = platform()?;
    let graph = arguments::graph(platform, graph)?;
    if graph.is_child() || graph.is_being_captured() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let removed = platform.graphs.graphs.remove(graph.handle);
    removed.map(drop).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

pub(super) unsafe fn cuGraphDestroyNode(node: CUgraphNode) -> Result {
    let (graph, node) = arguments::node(platform()?, node)?;
    if graph.is_being_captured() || graph.has_memory_nodes() || !graph.remove(node) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    Ok(())
}

pub(super) unsafe fn cuGraphClone(clone: *mut CUgraph, original: CUgraph) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(clone) }?;
    out.set(handle(arguments::graph(platform()?, original)?.duplicate()?.handle));
    Ok(())
}

pub(super) unsafe fn cuGraphNodeFindInClone(
    node: *mut CUgraphNode,
    original: CUgraphNode,
    clone: CUgraph,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(node) }?;
    let platform = platform()?;
    arguments::node(platform, original)?;
    let found = arguments::graph(platform, clone)?.copy_of(number(original));
    out.set(handle(found.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?));
    Ok(())
}

pub(super) unsafe fn cuGraphDebugDotPrint(
    graph: CUgraph,
    path: *const c_char,
    flags: c_uint,
) -> Result {
    // SAFETY: the caller's promise.
    let path = unsafe { text(path) }?;
    let graph = arguments::graph(platform()?, graph)?;
    let handles =
        DotFlags::CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES.0 | DotFlags::CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE.0;
    let written = std::fs::write(path, dot(&graph, flags & handles != 0));
    written.map_err(|error| {
        tracing::warn!(%error, path, "a graph could not be written");
        CUresult::CUDA_ERROR_OPERATING_SYSTEM
    })
}

pub(super) unsafe fn cuGraphNodeGetType(
    node: CUgraphNode,
    node_type: *mut CUgraphNodeType,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(node_type) }?;
    let (graph, node) = arguments::node(platform()?, node)?;
    let operation = graph.operation(node).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    out.set(operation.node_type());
    Ok(())
}

pub(super) unsafe fn cuGraphGetNodes(
    graph: CUgraph,
    nodes: *mut CUgraphNode,
    count: *mut usize,
) -> Result {
    let graph = arguments::graph(platform()?, graph)?;
    // SAFETY: the caller's promise.
    unsafe { write_list(nodes, count, &graph.handles()) }
}

pub(super) unsafe fn cuGraphGetRootNodes(
    graph: CUgraph,
    nodes: *mut CUgraphNode,
    count: *mut usize,
) -> Result {
    let graph = arguments::graph(platform()?, graph)?;
    // SAFETY: the caller's promise.
    unsafe { write_list(nodes, count, &graph.roots()) }
}

pub(super) unsafe fn cuGraphGetEdges_v2(
    graph: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    data: *mut CUgraphEdgeData,
    count: *mut usize,
) -> Result {
    let graph = arguments::graph(platform()?, graph)?;
    let edges = graph.edges();
    if from.is_null() != to.is_null() || (from.is_null() && !data.is_null()) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    check_lossless(from, data, edges.iter().map(|edge| edge.2))?;
    let ports: Vec<_> = edges.iter().map(|edge| edge_data(edge.2)).collect();
    let ends = |end: fn(&(u64, u64, Ports)) -> u64| edges.iter().map(end).collect::<Vec<_>>();
    // SAFETY: the caller's promise; the number is written last, since each list reads it.
    unsafe {
        let room = Out::new(count).map(|_| count.read_unaligned())?;
        write_all(to, room, ends(|edge| edge.1).into_iter().map(handle));
        write_all(data, room, ports.into_iter());
        write_list(from, count, &ends(|edge| edge.0))
    }
}

pub(super) unsafe fn cuGraphNodeGetDependencies_v2(
    node: CUgraphNode,
    dependencies: *mut CUgraphNode,
    data: *mut CUgraphEdgeData,
    count: *mut usize,
) -> Result {
    let (graph, node) = arguments::node(platform()?, node)?;
    // SAFETY: the caller's promise.
    unsafe { write_neighbours(dependencies, data, count, &graph.dependencies(node)) }
}

pub(super) unsafe fn cuGraphNodeGetDependentNodes_v2(
    node: CUgraphNode,
    dependents: *mut CUgraphNode,
    data: *mut CUgraphEdgeData,
    count: *mut usize,
) -> Result {
    let (graph, node) = arguments::node(platform()?, node)?;
    // SAFETY: the caller's promise.
    unsafe { write_neighbours(dependents, data, count, &graph.dependents(node)) }
}

pub(super) unsafe fn cuGraphAddDependencies_v2(
    graph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    count: usize,
) -> Result {
    let platform = platform()?;
    let graph = arguments::graph(platform, graph)?;
    // SAFETY: the caller's promise.
    graph.add_edges(&unsafe { pairs(platform, &graph, from, to, data, count) }?)
}

pub(super) unsafe fn cuGraphRemoveDependencies_v2(
    graph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    count: usize,
) -> Result {
    let platform = platform()?;
    let graph = arguments::graph(platform, graph)?;
    // SAFETY: the caller's promise.
    graph.remove_edges(&unsafe { pairs(platform, &graph, from, to, data, count) }?)
}

/// The edges that a call lists: from nodes of a graph, with data or without.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for what is not a node of the graph.
///
/// # Safety
/// `nodes`, and `data` unless it is null, have `count` elements.
pub(super) unsafe fn edges(
    platform: &Platform,
    graph: &Arc<Graph>,
    nodes: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    count: usize,
) -> Result<Vec<Edge>> {
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    if count > 0 && nodes.is_null() {
        return Err(invalid);
    }
    let edge = |index| {
        // SAFETY: the caller's promise.
        let from = node_of(platform, graph, unsafe { nodes.add(index).read_unaligned() })?;
        if data.is_null() {
            return Ok(Edge { from, ports: Ports::default() });
        }
        // SAFETY: as above.
        let data = unsafe { data.add(index).read_unaligned() };
        if data.reserved != [0; 5] {
            return Err(invalid);
        }
        let ports = Ports { from: data.from_port, to: data.to_port, kind: data.type_ };
        Ok(Edge { from, ports })
    };
    (0..count).map(edge).collect()
}

/// # Safety
/// As [`edges`], for both ends.
unsafe fn pairs(
    platform: &Platform,
    graph: &Arc<Graph>,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    count: usize,
) -> Result<Vec<(NodeId, Edge)>> {
    // SAFETY: the caller's promise.
    let from = unsafe { edges(platform, graph, from, data, count) }?;
    // SAFETY: as above.
    let to = unsafe { edges(platform, graph, to, std::ptr::null(), count) }?;
    Ok(to.into_iter().map(|edge| edge.from).zip(from).collect())
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
    nodes: *mut CUgraphNode,
    data: *mut CUgraphEdgeData,
    mut ports: impl Iterator<Item = Ports>,
) -> Result {
    if !nodes.is_null() && data.is_null() && ports.any(|ports| ports != Ports::default()) {
        return Err(CUresult::CUDA_ERROR_LOSSY_QUERY);
    }
    Ok(())
}

/// # Safety
/// As [`write_list`], for both lists.
unsafe fn write_neighbours(
    nodes: *mut CUgraphNode,
    data: *mut CUgraphEdgeData,
    count: *mut usize,
    neighbours: &[(u64, Ports)],
) -> Result {
    if nodes.is_null() && !data.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    check_lossless(nodes, data, neighbours.iter().map(|(_, ports)| *ports))?;
    let handles: Vec<u64> = neighbours.iter().map(|(handle, _)| *handle).collect();
    // SAFETY: the caller's promise; the number is written last, since each list reads it.
    unsafe {
        let room = Out::new(count).map(|_| count.read_unaligned())?;
        write_all(data, room, neighbours.iter().map(|(_, ports)| edge_data(*ports)));
        write_list(nodes, count, &handles)
    }
}

/// Writes handles to a list of the program's as far as there is room, null in what is left of it,
/// and how many were written. Without a list, the program learns how many there are.
///
/// # Safety
/// `count` is null, or can be read and written, and `list` is null or has so much room.
unsafe fn write_list(list: *mut CUgraphNode, count: *mut usize, handles: &[u64]) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(count) }?;
    if list.is_null() {
        out.set(handles.len());
        return Ok(());
    }
    // SAFETY: it is not null.
    let room = unsafe { count.read_unaligned() };
    let rest = std::iter::repeat_n(0, room.saturating_sub(handles.len()));
    let all = handles.iter().copied().chain(rest).map(handle);
    // SAFETY: the caller's promise.
    unsafe { write_all(list, room, all) };
    out.set(handles.len().min(room));
    Ok(())
}

/// # Safety
/// `list` is null, or has room for `room` values.
unsafe fn write_all<T>(list: *mut T, room: usize, values: impl Iterator<Item = T>) {
    if list.is_null() {
        return;
    }
    for (index, value) in values.take(room).enumerate() {
        // SAFETY: the caller's promise.
        unsafe { list.add(index).write_unaligned(value) };
    }
}

/// Tells the program the handle of a node.
pub(super) fn set_node(out: &Out<CUgraphNode>, graph: &Graph, node: NodeId) {
    out.set(handle(graph.handle_of(node)));
}
