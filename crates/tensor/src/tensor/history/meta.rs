//! The autograd metadata of a tensor: the node that computed it, or its leaf, or neither; and the
//! tensor that it is a view of.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::leaf::Leaf;
use super::node::{Edge, NodeOutput};
use crate::Tensor;

/// The autograd metadata of a tensor (PyTorch's `AutogradMeta`). For most tensors it is empty, and
/// needs no allocation.
pub(crate) struct Meta {
    /// The history that the tensor was made with. It is read without a lock.
    history: Option<NodeOutput>,
    requires_grad: AtomicBool,
    leaf: OnceLock<Arc<Leaf>>,
    /// The history since the first operation in place that replaced it.
    later: OnceLock<Box<Mutex<LaterHistory>>>,
}

/// A history that replaced the one that a tensor was made with.
struct LaterHistory {
    history: Option<NodeOutput>,
    /// The version of the storage that it is right for, if the tensor is a view.
    version: u64,
    /// Whether the gradient is kept in the leaf.
    retains_grad: bool,
}

/// The origin of a view that gradients flow through (PyTorch's `DifferentiableViewMeta`).
pub(crate) struct ViewOf {
    /// The tensor that owns the history of the memory; it is no view itself.
    pub(crate) base: Tensor,
    /// The version of the storage when the view was made.
    pub(crate) version: u64,
    pub(crate) creation: ViewCreation,
}

/// The way in which a view was made, by which it may be written to in place or not (PyTorch's
/// `CreationMeta`). It is as wide as a pointer, so that a tensor that is put together has no padding
/// between its parts: that would be copied with the part beside it, in pieces that overlap those it was
/// written in, which the processor waits for.
#[repr(usize)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewCreation {
    /// By an operation with one view, in grad mode.
    Recorded,
    /// By an operation that gives several views.
    OneOfSeveral,
    /// While nothing was recorded.
    WithoutGradMode,
}

impl Meta {
    /// The metadata of a tensor without history, which requires no gradients.
    pub(crate) const fn none() -> Meta {
        Meta {
            history: None,
            requires_grad: AtomicBool::new(false),
            leaf: OnceLock::new(),
            later: OnceLock::new(),
        }
    }

    /// The metadata of a leaf.
    pub(crate) fn leaf(requires_grad: bool) -> Meta {
        Meta { requires_grad: AtomicBool::new(requires_grad), ..Meta::none() }
    }

    /// The metadata of the tensor whose gradient goes along an edge.
    pub(crate) fn of_edge(edge: Edge) -> Meta {
        match edge {
            Edge::Node(output) => Meta { history: Some(output), ..Meta::none() },
            Edge::Leaf(leaf) => Meta { leaf: OnceLock::from(leaf), ..Meta::leaf(true) },
        }
    }

    /// Gives a new tensor, which nobody else has yet, its history.
    pub(crate) fn set_history(&mut self, output: NodeOutput) {
        self.history = Some(output);
    }

    /// The output of a node that the tensor is; that of a view may be out of date.
    pub(crate) fn history(&self) -> Option<NodeOutput> {
        match self.later.get() {
            Some(later) => later.lock().history.clone(),
            None => self.history.clone(),
        }
    }

    /// Replaces the history, after an operation in place. `version` is that of the storage now.
    pub(crate) fn replace_history(&self, output: NodeOutput, version: u64) {
        let mut later = self.later(version).lock();
        if later.retains_grad
            && let Some(leaf) = self.leaf.get()
        {
            if let Some(before) = &later.history {
                before.node.hooks().retain_no_more(leaf);
            }
            output.node.hooks().retain(output.index, Arc::clone(leaf));
        }
        let before = later.history.replace(output);
        later.version = version;
        drop(later);
        // The node may own values of the program, whose destructors may do anything.
        drop(before);
    }

    /// Keeps the gradient of `tensor`, whose metadata this is and which has a history, in its leaf.
    pub(crate) fn retain_grad(&self, tensor: &Tensor) {
        let leaf = Arc::clone(self.leaf_of(tensor));
        let version = tensor.view_of_base().map_or(0, |view| view.version);
        let mut later = self.later(version).lock();
        later.retains_grad = true;
        if let Some(output) = &later.history {
            output.node.hooks().retain(output.index, leaf);
        }
    }

    /// Whether the gradient of a tensor with a history is kept.
    pub(crate) fn retains_grad(&self) -> bool {
        self.later.get().is_some_and(|later| later.lock().retains_grad)
    }

    /// The history since it was replaced; until then, the one that the tensor was made with, which
    /// is right for `version` of the storage.
    fn later(&self, version: u64) -> &Mutex<LaterHistory> {
        self.later.get_or_init(|| {
            let history = self.history.clone();
            Box::new(Mutex::new(LaterHistory { history, version, retains_grad: false }))
        })
    }

    /// The version of the storage that the history of a view is right for, if it was replaced.
    pub(crate) fn version_of_history(&self) -> Option<u64> {
        self.later.get().map(|later| later.lock().version)
    }

    /// Whether the tensor itself requires gradients, whatever it is a view of.
    #[inline]
    pub(crate) fn requires_grad(&self) -> bool {
        self.history.is_some()
            || self.requires_grad.load(Ordering::Relaxed)
            || self.later.get().is_some_and(|later| later.lock().history.is_some())
    }

    /// Whether the tensor is a leaf that was set to require gradients.
    pub(crate) fn is_set_to_require_grad(&self) -> bool {
        self.requires_grad.load(Ordering::Relaxed)
    }

    /// Sets whether a leaf requires gradients. The output of a node always does.
    pub(crate) fn set_requires_grad(&self, requires_grad: bool) {
        self.requires_grad.store(requires_grad, Ordering::Relaxed);
    }

    /// The leaf, if it was made already: at the first edge to it, or when its gradient was set.
    pub(crate) fn existing_leaf(&self) -> Option<&Arc<Leaf>> {
        self.leaf.get()
    }

    /// The leaf of `tensor`, whose metadata this is; it is made at the first call.
    pub(crate) fn leaf_of(&self, tensor: &Tensor) -> &Arc<Leaf> {
        self.leaf.get_or_init(|| Arc::new(Leaf::new(tensor)))
    }
}
