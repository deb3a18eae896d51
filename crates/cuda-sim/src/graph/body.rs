//! Graphs as programs edit them: nodes, and edges between them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cuda_sys::CUresult;
use parking_lot::{Mutex, MutexGuard};

use super::conditional::ConditionalValue;
use super::edges::{GraphEdge, NodeId};
use super::operation::NodeOperation;
use super::shown::Shown;
use super::table::{GraphTable, NodeRef};
use super::user_object::{UserObject, UserObjectReferences};
use crate::device::{AttributeSet, KernelCall};

/// A graph that can be edited.
pub(crate) struct GraphTemplate {
    pub(crate) handle: u64,
    pub(super) table: &'static GraphTable,
    /// Belongs to a node of another graph.
    is_child: AtomicBool,
    /// Captures that fill it at the moment.
    captures: AtomicUsize,
    /// Shared with the executable graphs that were made of it.
    pub(super) token: Arc<()>,
    body: Mutex<Body>,
}

#[derive(Default)]
pub(super) struct Body {
    pub(super) nodes: Vec<Option<GraphNodeRecord>>,
    /// Objects of the program's that the graph keeps.
    pub(super) held: Vec<UserObjectReferences>,
    /// The values of its conditional nodes.
    conditionals: Vec<Arc<ConditionalValue>>,
}

#[derive(Clone)]
pub(super) struct GraphNodeRecord {
    pub(super) handle: u64,
    pub(super) operation: NodeOperation,
    pub(super) dependencies: Vec<GraphEdge>,
    pub(super) attributes: AttributeSet,
    /// The node that it was cloned from.
    pub(super) origin: u64,
    /// The copy of its parameters that the program was last given a pointer to.
    pub(super) shown: Option<Arc<Shown>>,
}

impl GraphTemplate {
    /// An empty graph with a handle of its own.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY` when there are no handles left.
    pub(crate) fn new(table: &'static GraphTable) -> Result<Arc<GraphTemplate>, CUresult> {
        let make = |handle| GraphTemplate {
            handle,
            table,
            is_child: AtomicBool::new(false),
            captures: AtomicUsize::new(0),
            token: Arc::default(),
            body: Mutex::default(),
        };
        let made = table.graphs.insert(make).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        Ok(made.1)
    }

    /// Adds a node.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for dependencies that are not nodes of this graph, or are the
    /// same; `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn add(
        self: &Arc<GraphTemplate>,
        operation: NodeOperation,
        dependencies: Vec<GraphEdge>,
    ) -> Result<NodeId, CUresult> {
        let mut body = self.body();
        let distinct: BTreeSet<_> = dependencies.iter().map(|edge| edge.from).collect();
        let known = dependencies.iter().all(|edge| body.accepts(*edge, &operation));
        if distinct.len() != dependencies.len() || !known {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let id = NodeId(body.nodes.len());
        let named = self.table.nodes.insert(|_| NodeRef::new(self, id));
        let (handle, _) = named.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        body.nodes.push(Some(GraphNodeRecord::new(handle, operation, dependencies)));
        Ok(id)
    }

    /// Makes a graph of nodes that are not checked again. Edges lead to nodes by their place.
    pub(super) fn of_nodes(
        table: &'static GraphTable,
        nodes: Vec<Option<GraphNodeRecord>>,
        held: Vec<UserObjectReferences>,
    ) -> Result<Arc<GraphTemplate>, CUresult> {
        let graph = GraphTemplate::new(table)?;
        let named = |(place, mut node): (usize, Option<GraphNodeRecord>)| {
            if let Some(node) = &mut node {
                let named = table.nodes.insert(|_| NodeRef::new(&graph, NodeId(place)));
                node.handle = named.map_or(0, |(handle, _)| handle);
            }
            node
        };
        let nodes: Vec<_> = nodes.into_iter().enumerate().map(named).collect();
        let is_complete = nodes.iter().flatten().all(|node| node.handle != 0);
        *graph.body() = Body { nodes, held, conditionals: Vec::new() };
        if !is_complete {
            table.destroy(graph.handle);
            return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        }
        Ok(graph)
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

    /// The operation of a node.
    pub(crate) fn operation(&self, id: NodeId) -> Option<NodeOperation> {
        self.body().node(id).map(|node| node.operation.clone())
    }

    /// Gives a node other parameters.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if the node does not do that kind of thing.
    pub(crate) fn set_operation(
        &self,
        id: NodeId,
        operation: NodeOperation,
    ) -> Result<(), CUresult> {
        let mut body = self.body();
        let node =
            body.node_mut(id).filter(|node| node.operation.node_type() == operation.node_type());
        let node = node.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        node.shown = None;
        let old = std::mem::replace(&mut node.operation, operation);
        drop(body);
        drop(old);
        Ok(())
    }

    /// A copy of a node's parameters that stays where it is for as long as the node has them, for
    /// calls that return pointers.
    pub(crate) fn show(&self, id: NodeId, make: impl FnOnce() -> Shown) -> Option<Arc<Shown>> {
        let mut body = self.body();
        let node = body.node_mut(id)?;
        Some(Arc::clone(node.shown.get_or_insert_with(|| Arc::new(make()))))
    }

    /// Looks at a kernel node, and may change how it launches its kernel.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if it is none.
    pub(crate) fn with_kernel<R>(
        &self,
        id: NodeId,
        change: impl FnOnce(&mut KernelCall) -> R,
    ) -> Result<R, CUresult> {
        match self.body().node_mut(id).map(|node| &mut node.operation) {
            Some(NodeOperation::Kernel(call)) => Ok(change(call)),
            _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }

    /// The attributes of a kernel node.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if it is none.
    pub(crate) fn with_attributes<R>(
        &self,
        id: NodeId,
        change: impl FnOnce(&mut AttributeSet) -> R,
    ) -> Result<R, CUresult> {
        let mut body = self.body();
        let node = body.node_mut(id);
        let node = node.filter(|node| matches!(node.operation, NodeOperation::Kernel(_)));
        Ok(change(&mut node.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?.attributes))
    }

    /// Whether one of its nodes allocates or frees memory.
    pub(crate) fn has_memory_nodes(&self) -> bool {
        self.body().nodes.iter().flatten().any(|node| node.operation.is_about_memory())
    }

    /// Whether one of its nodes is conditional.
    pub(super) fn has_conditional_nodes(&self) -> bool {
        let is_conditional =
            |node: &GraphNodeRecord| matches!(node.operation, NodeOperation::Conditional(_));
        self.body().nodes.iter().flatten().any(is_conditional)
    }

    /// Keeps a value for a conditional node.
    pub(crate) fn add_conditional(&self, value: Arc<ConditionalValue>) {
        self.body().conditionals.push(value);
    }

    /// The value of that handle.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if it was not made for this graph.
    pub(crate) fn conditional(&self, handle: u64) -> Result<Arc<ConditionalValue>, CUresult> {
        let body = self.body();
        let value = body.conditionals.iter().find(|value| value.handle() == handle);
        value.cloned().ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
    }

    /// The values that each launch of the graph sets.
    pub(super) fn conditionals_with_defaults(&self) -> Vec<Arc<ConditionalValue>> {
        let body = self.body();
        body.conditionals.iter().filter(|value| value.has_default()).cloned().collect()
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
        let is_lost = |value: &mut Arc<ConditionalValue>| value.context_id() == context;
        let values: Vec<_> = body.conditionals.extract_if(.., is_lost).collect();
        drop(body);
        lost.iter().for_each(|operation| self.release_graphs(operation));
        drop((lost, values));
    }

    pub(super) fn begin_capture(&self) {
        self.captures.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn end_capture(&self) {
        self.captures.fetch_sub(1, Ordering::AcqRel);
    }

    /// The nodes as they are now, by number.
    pub(super) fn nodes(&self) -> Vec<Option<GraphNodeRecord>> {
        self.body().nodes.clone()
    }

    fn release(&self, node: &GraphNodeRecord) {
        drop(self.table.nodes.remove(node.handle));
        self.release_graphs(&node.operation);
    }

    /// Lets go of all that it holds.
    ///
    /// A destroyed graph cannot leave that to its last owner: another thread that ends a context
    /// owns every graph for a moment.
    pub(super) fn clear(&self) {
        let held = std::mem::take(&mut *self.body());
        held.nodes.iter().flatten().for_each(|node| self.release(node));
    }

    /// Destroys the graphs that belong to a node.
    fn release_graphs(&self, operation: &NodeOperation) {
        match operation {
            NodeOperation::Child(child) => {
                self.table.destroy(child.handle);
            }
            NodeOperation::Conditional(conditional) => {
                for &body in conditional.handles() {
                    self.table.destroy(body);
                }
            }
            _ => {}
        }
    }

    pub(super) fn body(&self) -> MutexGuard<'_, Body> {
        self.body.lock()
    }
}

impl Drop for GraphTemplate {
    fn drop(&mut self) {
        self.clear();
    }
}

impl GraphNodeRecord {
    pub(super) fn new(
        handle: u64,
        operation: NodeOperation,
        dependencies: Vec<GraphEdge>,
    ) -> GraphNodeRecord {
        GraphNodeRecord {
            handle,
            operation,
            dependencies,
            attributes: AttributeSet::default(),
            origin: 0,
            shown: None,
        }
    }
}

impl Body {
    pub(super) fn node(&self, id: NodeId) -> Option<&GraphNodeRecord> {
        self.nodes.get(id.0)?.as_ref()
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> Option<&mut GraphNodeRecord> {
        self.nodes.get_mut(id.0)?.as_mut()
    }

    pub(super) fn handle(&self, id: NodeId) -> u64 {
        self.node(id).map_or(0, |node| node.handle)
    }

    /// Whether an edge may lead to a node that does `operation`.
    pub(super) fn accepts(&self, edge: GraphEdge, operation: &NodeOperation) -> bool {
        let Some(from) = self.node(edge.from) else { return false };
        let kernels = [&from.operation, operation];
        let kernels = kernels.iter().all(|operation| matches!(operation, NodeOperation::Kernel(_)));
        edge.ports.fits(kernels)
    }
}

impl GraphTemplate {
    /// Makes the graph hold references: the caller's, or more of them.
    pub(crate) fn hold(&self, object: &Arc<UserObject>, count: u64, is_callers: bool) {
        if !is_callers {
            object.retain(count);
        }
        let mut body = self.body();
        let known = body.held.iter_mut().find(|held| held.is_of(object));
        match known {
            Some(held) => held.add(count),
            None => body.held.push(UserObjectReferences::new(object, count)),
        }
    }

    /// Takes references from the graph.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if it does not hold so many.
    pub(crate) fn let_go(&self, object: &Arc<UserObject>, count: u64) -> Result<(), CUresult> {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        let mut body = self.body();
        let index = body.held.iter().position(|held| held.is_of(object)).ok_or(invalid)?;
        let is_last = body.held[index].take(count).ok_or(invalid)? == 0;
        let gone = is_last.then(|| body.held.remove(index));
        drop(body);
        drop(gone);
        object.release(count)
    }

    /// References to the same objects, for a copy of the graph.
    pub(super) fn held(&self) -> Vec<UserObjectReferences> {
        self.body().held.iter().map(UserObjectReferences::again).collect()
    }
}
