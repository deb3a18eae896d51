//! The nodes of the graph: one per recorded operation, each of which owns the nodes before it.

use std::sync::Arc;

use gpu_runtime::Stream;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::leaf::{Form, Leaf};
use crate::AutogradError;
use crate::resolved_device::ResolvedDevice;
use crate::{Result, Tensor};

/// The gradients of an operation's inputs, in their order.
pub(crate) type Gradients = SmallVec<[Option<Tensor>; 3]>;

/// The backward function of an operation: takes the gradient of the output, and for each input
/// whether it needs one, and gives the gradients of the inputs.
pub(crate) type BackwardFunction = dyn Fn(&Tensor, &[bool]) -> Result<Gradients> + Send + Sync;

/// The choice whether a backward pass frees the tensors that the nodes have saved (`retain_graph`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GraphRetention {
    Free,
    Retain,
}

/// A recorded operation (PyTorch's `Node`).
pub(crate) struct Node {
    pub(crate) name: &'static str,
    pub(crate) inputs: SmallVec<[Option<Edge>; 3]>,
    /// `None` after a pass has freed it.
    function: Mutex<Option<Arc<BackwardFunction>>>,
    form: Form,
    /// The stream that the operation was enqueued on. Its backward function is enqueued there too.
    pub(crate) stream: Option<Stream>,
}

impl Node {
    /// The node of an operation that has just computed `output`, on its device's current stream.
    pub(crate) fn new(
        name: &'static str,
        inputs: SmallVec<[Option<Edge>; 3]>,
        output: &Tensor,
        function: Arc<BackwardFunction>,
    ) -> Node {
        let stream = match output.resolved_device() {
            ResolvedDevice::Cpu => None,
            // If the stream cannot be found, the backward function runs on the current one.
            ResolvedDevice::Cuda(device) => device.current_stream().ok(),
        };
        Node { name, inputs, function: Mutex::new(Some(function)), form: Form::of(output), stream }
    }

    /// The backward function. With [`GraphRetention::Free`] the node gives it away.
    ///
    /// # Errors
    /// An earlier pass has freed it.
    pub(crate) fn function(
        &self,
        graph: GraphRetention,
    ) -> Result<Arc<BackwardFunction>, AutogradError> {
        let mut function = self.function.lock();
        match graph {
            GraphRetention::Free => function.take(),
            GraphRetention::Retain => function.clone(),
        }
        .ok_or(AutogradError::GraphFreed { op: self.name })
    }
}

impl Drop for Node {
    /// Frees a long chain of nodes one by one. Recursion, node by node, would overflow the stack.
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

/// The target of the gradient of an operation's input (PyTorch's `Edge`).
#[derive(Clone)]
pub(crate) enum Edge {
    /// The operation that computed the input.
    Node(Arc<Node>),
    /// The leaf that the input is.
    Leaf(Arc<Leaf>),
}

/// The identity of the node or leaf that an edge leads to, valid while the edge lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct EdgeId(usize);

impl EdgeId {
    /// The identity of a node or leaf.
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
