//! The graph's nodes: one per recorded operation, each holding on to what it was computed from.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpu_runtime::Stream;
use smallvec::SmallVec;

use super::leaf::{Form, Leaf};
use crate::AutogradError;
use crate::placement::Place;
use crate::{Result, Tensor};

/// The gradients of an operation's inputs, in their order.
pub(crate) type Gradients = SmallVec<[Option<Tensor>; 3]>;

/// From the gradient of the output, and which inputs need one, to the gradients of the inputs.
pub(crate) type Function = dyn Fn(&Tensor, &[bool]) -> Result<Gradients> + Send + Sync;

/// Whether a walk through the graph gives back what the nodes had saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GraphRetention {
    Free,
    Retain,
}

/// One operation that was recorded.
pub(crate) struct Node {
    pub(crate) name: &'static str,
    pub(crate) inputs: SmallVec<[Option<Edge>; 3]>,
    /// `None` once a walk freed it.
    function: Mutex<Option<Arc<Function>>>,
    form: Form,
    /// The stream the operation was enqueued on, where its backward function will be too.
    pub(crate) stream: Option<Stream>,
}

impl Node {
    /// The record of an operation that gave `output` just now, on its device's current stream.
    pub(crate) fn new(
        name: &'static str,
        inputs: SmallVec<[Option<Edge>; 3]>,
        output: &Tensor,
        function: Arc<Function>,
    ) -> Node {
        let stream = match output.place() {
            Place::Cpu => None,
            // Without a stream of its own the backward function runs on the current one.
            Place::Cuda(device) => device.current_stream().ok(),
        };
        Node { name, inputs, function: Mutex::new(Some(function)), form: Form::of(output), stream }
    }

    /// The backward function; with [`GraphRetention::Free`] the node lets go of it.
    pub(crate) fn function(&self, graph: GraphRetention) -> Result<Arc<Function>, AutogradError> {
        let mut function = self.lock();
        match graph {
            GraphRetention::Free => function.take(),
            GraphRetention::Retain => function.clone(),
        }
        .ok_or(AutogradError::GraphFreed { op: self.name })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Function>>> {
        self.function.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Node {
    /// Takes a chain apart link by link: recursion would overflow the stack on long ones.
    fn drop(&mut self) {
        let mut orphans: SmallVec<[Option<Edge>; 3]> = std::mem::take(&mut self.inputs);
        while let Some(edge) = orphans.pop() {
            if let Some(Edge::Node(node)) = edge
                && let Some(mut last) = Arc::into_inner(node)
            {
                orphans.append(&mut last.inputs);
            }
        }
    }
}

/// Where the gradient of an operation's input flows to.
#[derive(Clone)]
pub(crate) enum Edge {
    /// To the operation that computed the input.
    Node(Arc<Node>),
    /// To the input itself.
    Leaf(Arc<Leaf>),
}

/// The identity of an edge's end, valid while the edge lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct EdgeId(usize);

impl EdgeId {
    /// Of the edges that end at this node or leaf.
    pub(crate) fn of<T>(end: &Arc<T>) -> EdgeId {
        EdgeId(Arc::as_ptr(end).addr())
    }
}

impl Edge {
    pub(crate) fn id(&self) -> EdgeId {
        match self {
            Edge::Node(node) => EdgeId::of(node),
            Edge::Leaf(leaf) => EdgeId::of(leaf),
        }
    }

    pub(crate) fn form(&self) -> &Form {
        match self {
            Edge::Node(node) => &node.form,
            Edge::Leaf(leaf) => leaf.form(),
        }
    }
}
