//! The nodes of the graph: one per recorded operation, each of which owns the nodes before it.

use std::ops::Deref;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

use gpu_runtime::Stream;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::form::Form;
use super::hooks::GradientHooks;
use super::leaf::Leaf;
use crate::AutogradError;
use crate::shared::Counted;
use crate::storage::Storage;
use crate::{Result, Tensor};

/// The gradients of an operation's inputs or outputs, in their order; `None` where there is none.
pub(crate) type Gradients = SmallVec<[Option<Tensor>; 3]>;

/// The backward function of an operation: takes the gradients of the outputs, of which at least one
/// is there, and for each input whether it needs one, and gives the gradients of the inputs.
#[derive(Clone)]
pub(crate) enum BackwardFunction {
    /// The function of one call, with what that has saved.
    OfCall(Counted<GradientsOf>),
    /// A function of the gradients alone, which all calls of the operation share: a call allocates
    /// nothing for it.
    Shared(&'static GradientsOf),
}

pub(crate) type GradientsOf = dyn Fn(&[Option<Tensor>], &[bool]) -> Result<Gradients> + Send + Sync;

impl BackwardFunction {
    pub(crate) fn new(
        function: impl Fn(&[Option<Tensor>], &[bool]) -> Result<Gradients> + Send + Sync + 'static,
    ) -> BackwardFunction {
        let function = Counted::new(function);
        // SAFETY: the pointer is given back as it is.
        let function = unsafe { Counted::unsize::<GradientsOf>(function, |pointer| pointer) };
        BackwardFunction::OfCall(function)
    }

    /// # Errors
    /// The function's own.
    pub(crate) fn call(&self, gradients: &[Option<Tensor>], needs: &[bool]) -> Result<Gradients> {
        match self {
            BackwardFunction::OfCall(function) => (**function)(gradients, needs),
            BackwardFunction::Shared(function) => function(gradients, needs),
        }
    }
}

/// The edges from an operation to its inputs; `None` for one that requires no gradient.
pub(crate) type InputEdges = SmallVec<[Option<Edge>; 3]>;

/// The forms of an operation's outputs.
pub(crate) type OutputForms = SmallVec<[Form; 1]>;

/// The choice whether a backward pass frees the tensors that the nodes have saved (`retain_graph`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GraphRetention {
    Free,
    Retain,
}

/// A storage that a node has saved a tensor of: its number and its size in bytes. It is told apart
/// from others only as long as the node keeps it.
#[derive(Clone, Copy)]
pub(crate) struct SavedStorage {
    pub(crate) id: usize,
    pub(crate) bytes: usize,
}

impl SavedStorage {
    pub(crate) fn of(storage: &Storage) -> SavedStorage {
        SavedStorage { id: storage.id(), bytes: storage.nbytes() }
    }
}

/// A recorded operation (PyTorch's `Node`).
pub(crate) struct Node {
    parts: NodeParts,
    /// `None` until it is known, and after a pass has freed it.
    backward: Mutex<Option<NodeBackward>>,
    hooks: OnceLock<Arc<GradientHooks>>,
}

impl Deref for Node {
    type Target = NodeParts;

    #[inline]
    fn deref(&self) -> &NodeParts {
        &self.parts
    }
}

/// The backward function of a node, with the storages that it keeps.
pub(crate) struct NodeBackward {
    pub(crate) function: BackwardFunction,
    pub(crate) saved: SavedStorages,
}

/// Storages that a node has saved tensors of.
pub(crate) type SavedStorages = SmallVec<[SavedStorage; 2]>;

/// The parts of a node that are known before its backward function is.
pub(crate) struct NodeParts {
    pub(crate) name: &'static str,
    /// The call of the forward operation.
    pub(crate) place: &'static Location<'static>,
    pub(crate) inputs: InputEdges,
    pub(crate) outputs: OutputForms,
    /// The stream that the operation was enqueued on. Its backward function is enqueued there too.
    pub(crate) stream: Option<Stream>,
}

impl Node {
    /// A node of its parts, which gets its backward function by [`Node::complete`].
    #[inline]
    pub(crate) fn new(parts: NodeParts) -> Counted<Node> {
        Counted::new(Node { parts, backward: Mutex::new(None), hooks: OnceLock::new() })
    }

    /// The parts of a new node, which nobody else has, to be completed.
    ///
    /// # Panics
    /// There is another handle on the node.
    #[inline]
    pub(crate) fn parts_mut(node: &mut Counted<Node>) -> &mut NodeParts {
        &mut Counted::get_mut(node).expect("a new node has one handle").parts
    }

    /// Gives a new node its backward function, which may have saved outputs of the node and so know
    /// it.
    #[inline(always)]
    pub(crate) fn complete(node: &mut Counted<Node>, backward: NodeBackward) {
        // No lock is needed, unless the function knows the node.
        match Counted::get_mut(node) {
            Some(node) => *node.backward.get_mut() = Some(backward),
            None => *node.backward.lock() = Some(backward),
        }
    }

    /// The backward function. With [`GraphRetention::Free`] the node gives it away.
    ///
    /// # Errors
    /// An earlier pass has freed it.
    pub(crate) fn function(
        &self,
        graph: GraphRetention,
    ) -> Result<BackwardFunction, AutogradError> {
        let mut backward = self.backward.lock();
        match graph {
            GraphRetention::Free => backward.take().map(|backward| backward.function),
            GraphRetention::Retain => backward.as_ref().map(|of| of.function.clone()),
        }
        .ok_or(AutogradError::GraphFreed { op: self.name })
    }

    /// The storages that the node keeps for its backward function; none once that was freed.
    pub(crate) fn saved(&self) -> SavedStorages {
        self.backward.lock().as_ref().map_or(SavedStorages::new(), |of| of.saved.clone())
    }

    /// The hooks on the gradients of the outputs, if there are any.
    pub(crate) fn existing_hooks(&self) -> Option<&Arc<GradientHooks>> {
        self.hooks.get()
    }

    pub(crate) fn hooks(&self) -> &Arc<GradientHooks> {
        self.hooks.get_or_init(Arc::default)
    }
}

impl Drop for Node {
    /// Frees a long chain of nodes one by one. Recursion, node by node, would overflow the stack.
    fn drop(&mut self) {
        // What the function has saved has edges to the same nodes: it goes first, while these hold
        // them.
        *self.backward.get_mut() = None;
        // Most nodes leave none behind.
        let is_last = |edge: &Edge| match edge {
            Edge::Node(output) => Counted::handles(&output.node) == 1,
            Edge::Leaf(_) => false,
        };
        if !self.inputs.iter().flatten().any(is_last) {
            return;
        }
        let mut orphans = Orphans::new();
        take_inputs(self, &mut orphans);
        while let Some(mut node) = orphans.pop() {
            // Freed where it is, if nobody can ask for it any more.
            if let Some(last) = Counted::get_mut(&mut node) {
                take_inputs(last, &mut orphans);
            } else if let Some(mut last) = Counted::into_inner(node) {
                take_inputs(&mut last, &mut orphans);
            }
        }
    }
}

/// Nodes to which an edge has led from a node that is being freed.
type Orphans = SmallVec<[Counted<Node>; 4]>;

/// Takes the nodes before a node that is being freed.
fn take_inputs(node: &mut Node, orphans: &mut Orphans) {
    // What the function has saved has edges to the same nodes: it goes first, while these hold them.
    *node.backward.get_mut() = None;
    for edge in node.parts.inputs.drain(..) {
        if let Some(Edge::Node(output)) = edge {
            orphans.push(output.node);
        }
    }
}

/// An output of a node.
#[derive(Clone)]
pub(crate) struct NodeOutput {
    pub(crate) node: Counted<Node>,
    pub(crate) index: u32,
}

/// The target of the gradient of an operation's input (PyTorch's `Edge`).
#[derive(Clone)]
pub(crate) enum Edge {
    /// The output of the operation that computed the input.
    Node(NodeOutput),
    /// The leaf that the input is.
    Leaf(Arc<Leaf>),
}

/// The identity of the node or leaf that an edge leads to, valid while the edge lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct EndId(usize);

impl EndId {
    pub(crate) fn of_node(node: &Counted<Node>) -> EndId {
        EndId(Counted::id(node))
    }

    pub(crate) fn of_leaf(leaf: &Arc<Leaf>) -> EndId {
        EndId(Arc::as_ptr(leaf).addr())
    }
}

/// The identity of an edge's target: a leaf, or one output of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct EdgeId {
    pub(crate) end: EndId,
    pub(crate) output: u32,
}

impl Edge {
    /// The identity of the node or leaf.
    pub(crate) fn end(&self) -> EndId {
        match self {
            Edge::Node(output) => EndId::of_node(&output.node),
            Edge::Leaf(leaf) => EndId::of_leaf(leaf),
        }
    }

    /// The number of the node's output; 0 for a leaf.
    pub(crate) fn output(&self) -> u32 {
        match self {
            Edge::Node(output) => output.index,
            Edge::Leaf(_) => 0,
        }
    }

    pub(crate) fn id(&self) -> EdgeId {
        EdgeId { end: self.end(), output: self.output() }
    }

    pub(crate) fn form(&self) -> &Form {
        match self {
            Edge::Node(output) => &output.node.outputs[output.index as usize],
            Edge::Leaf(leaf) => leaf.form(),
        }
    }
}
