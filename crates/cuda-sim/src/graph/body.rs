//! Graphs as programs edit them: nodes, and edges between them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_sys::{CUgraphDependencyType as Dependency, CUresult};

use super::handles::{Graphs, NodeRef};
use super::operation::Operation;

/// A graph that can be edited.
pub(crate) struct Graph {
    pub(crate) handle: u64,
    books: &'static Graphs,
    /// Belongs to a node of another graph.
    is_child: AtomicBool,
    /// Captures that fill it at the moment.
    captures: AtomicUsize,
    body: Mutex<Body>,
}

/// A node's number in its graph. Numbers go up in the order of making and are not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(pub(super) usize);

/// What a node depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: NodeId,
    pub(crate) ports: Ports,
}

/// The data of an edge. The default one is a full dependency.
///
/// The others let a kernel begin before an earlier one has ended. Here it never does, which is one
/// of the ways that it may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ports {
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) kind: u8,
}

#[derive(Default)]
pub(super) struct Body {
    nodes: Vec<Option<Node>>,
}

#[derive(Clone)]
pub(super) struct Node {
    pub(super) handle: u64,
    pub(super) operation: Operation,
    pub(super) dependencies: Vec<Edge>,
}

impl Graph {
    /// An empty graph with a handle of its own.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY` when there are no handles left.
    pub(crate) fn new(books: &'static Graphs) -> Result<Arc<Graph>, CUresult> {
        let make = |handle| Graph {
            handle,
            books,
            is_child: AtomicBool::new(false),
            captures: AtomicUsize::new(0),
            body: Mutex::default(),
        };
        let made = books.graphs.insert(make).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        Ok(made.1)
    }

    /// Adds a node.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for dependencies that are not nodes of this graph, or are the
    /// same; `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn add(
        self: &Arc<Graph>,
        operation: Operation,
        dependencies: Vec<Edge>,
    ) -> Result<NodeId, CUresult> {
        let mut body = self.body();
        let distinct: BTreeSet<_> = dependencies.iter().map(|edge| edge.from).collect();
        let known = dependencies.iter().all(|edge| body.accepts(*edge, &operation));
        if distinct.len() != dependencies.len() || !known {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let id = NodeId(body.nodes.len());
        let named = self.books.nodes.insert(|_| NodeRef::new(self, id));
        let (handle, _) = named.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        body.nodes.push(Some(Node { handle, operation, dependencies }));
        Ok(id)
    }

    /// Removes a node and its edges. False if there is none.
    pub(crate) fn remove(&self, id: NodeId) -> bool {
        let mut body = self.body();
        let removed = body.nodes.get_mut(id.0).and_then(Option::take);
        for node in body.nodes.iter_mut().flatten() {
            node.dependencies.retain(|edge| edge.from != id);
        }
        drop(body);
        let removed = removed.inspect(|node| self.release(node));
        removed.is_some()
    }

    /// Adds edges, all of them or none.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for nodes that are not here, an edge that there is already, one
    /// from a node to itself, and data that does not fit the nodes.
    pub(crate) fn add_edges(&self, edges: &[(NodeId, Edge)]) -> Result<(), CUresult> {
        let mut body = self.body();
        let mut seen = BTreeSet::new();
        for (to, edge) in edges {
            let fits = body.node(*to).is_some_and(|node| {
                node.dependencies.iter().all(|known| known.from != edge.from)
                    && body.accepts(*edge, &node.operation)
            });
            if !fits || edge.from == *to || !seen.insert((edge.from, *to)) {
                return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
            }
        }
        for (to, edge) in edges {
            if let Some(node) = body.node_mut(*to) {
                node.dependencies.push(*edge);
            }
        }
        Ok(())
    }

    /// Removes edges, all of them or none.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if one is not there, with that data.
    pub(crate) fn remove_edges(&self, edges: &[(NodeId, Edge)]) -> Result<(), CUresult> {
        let mut body = self.body();
        let known = edges
            .iter()
            .all(|(to, edge)| body.node(*to).is_some_and(|node| node.dependencies.contains(edge)));
        if !known {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        for (to, edge) in edges {
            if let Some(node) = body.node_mut(*to) {
                node.dependencies.retain(|known| known != edge);
            }
        }
        Ok(())
    }

    /// The handles of all nodes, in the order of making.
    pub(crate) fn handles(&self) -> Vec<u64> {
        self.body().nodes.iter().flatten().map(|node| node.handle).collect()
    }

    /// The handles of the nodes that depend on nothing.
    pub(crate) fn roots(&self) -> Vec<u64> {
        let body = self.body();
        let nodes = body.nodes.iter().flatten();
        nodes.filter(|node| node.dependencies.is_empty()).map(|node| node.handle).collect()
    }

    /// All edges: from a node, to a node.
    pub(crate) fn edges(&self) -> Vec<(u64, u64, Ports)> {
        let body = self.body();
        let into = |node: &Node| {
            let edge = |edge: &Edge| (body.handle(edge.from), node.handle, edge.ports);
            node.dependencies.iter().map(edge).collect::<Vec<_>>()
        };
        body.nodes.iter().flatten().flat_map(into).collect()
    }

    /// What a node depends on.
    pub(crate) fn dependencies(&self, id: NodeId) -> Vec<(u64, Ports)> {
        let body = self.body();
        let edges = body.node(id).map(|node| node.dependencies.iter());
        let edges = edges.into_iter().flatten();
        edges.map(|edge| (body.handle(edge.from), edge.ports)).collect()
    }

    /// What depends on a node.
    pub(crate) fn dependents(&self, id: NodeId) -> Vec<(u64, Ports)> {
        let body = self.body();
        let on = |node: &Node| {
            let edge = node.dependencies.iter().find(|edge| edge.from == id)?;
            Some((node.handle, edge.ports))
        };
        body.nodes.iter().flatten().filter_map(on).collect()
    }

    /// What a node does.
    pub(crate) fn operation(&self, id: NodeId) -> Option<Operation> {
        self.body().node(id).map(|node| node.operation.clone())
    }

    /// A node's handle.
    pub(crate) fn handle_of(&self, id: NodeId) -> u64 {
        self.body().handle(id)
    }

    /// Takes a graph into a node, or notes that it is. False if it was one already.
    pub(crate) fn become_child(&self) -> bool {
        !self.is_child.swap(true, Ordering::AcqRel)
    }

    /// Whether the program may not destroy it: it belongs to a node.
    pub(crate) fn is_child(&self) -> bool {
        self.is_child.load(Ordering::Acquire)
    }

    /// Whether a capture fills it at the moment.
    pub(crate) fn is_being_captured(&self) -> bool {
        self.captures.load(Ordering::Acquire) > 0
    }

    /// Takes from its nodes what belongs to a context.
    pub(super) fn orphan(&self, context: u64) {
        let mut body = self.body();
        let nodes = body.nodes.iter_mut().flatten();
        let lost: Vec<_> = nodes.filter_map(|node| node.operation.orphan(context)).collect();
        drop(body);
        drop(lost);
    }

    pub(super) fn begin_capture(&self) {
        self.captures.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn end_capture(&self) {
        self.captures.fetch_sub(1, Ordering::AcqRel);
    }

    /// The nodes as they are now, by number.
    pub(super) fn nodes(&self) -> Vec<Option<Node>> {
        self.body().nodes.clone()
    }

    fn release(&self, node: &Node) {
        drop(self.books.nodes.remove(node.handle));
        if let Operation::Child(child) = &node.operation {
            drop(self.books.graphs.remove(child.handle));
        }
    }

    fn body(&self) -> MutexGuard<'_, Body> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let body = self.body.get_mut().unwrap_or_else(PoisonError::into_inner);
        let nodes = std::mem::take(&mut body.nodes);
        nodes.iter().flatten().for_each(|node| self.release(node));
    }
}

impl Body {
    fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0)?.as_ref()
    }

    fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.0)?.as_mut()
    }

    fn handle(&self, id: NodeId) -> u64 {
        self.node(id).map_or(0, |node| node.handle)
    }

    /// Whether an edge may lead to a node that does `operation`.
    fn accepts(&self, edge: Edge, operation: &Operation) -> bool {
        let Some(from) = self.node(edge.from) else { return false };
        let kernels = [&from.operation, operation];
        let kernels = kernels.iter().all(|operation| matches!(operation, Operation::Kernel(_)));
        edge.ports.fits(kernels)
    }
}

impl Ports {
    /// As `CUgraphEdgeData` has it.
    pub(crate) fn bytes(self) -> [u8; 8] {
        [self.from, self.to, self.kind, 0, 0, 0, 0, 0]
    }

    /// Whether an edge can have this data, between two kernels or other nodes (cuda.h,
    /// `CUgraphEdgeData`).
    fn fits(self, between_kernels: bool) -> bool {
        let programmatic = Dependency::CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC.0 as u8;
        match self {
            Ports { from: 0, to: 0, kind: 0 } => true,
            Ports { from: 1..=2, to: 0, kind } => between_kernels && kind == programmatic,
            _ => false,
        }
    }
}
