//! The autograd metadata of a tensor: the node that computed it, or its leaf, or neither.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::leaf::{Form, Leaf};
use super::node::{Edge, Node};
use crate::Tensor;

/// The autograd metadata of a tensor (PyTorch's `AutogradMeta`). For most tensors it is empty, and
/// needs no allocation.
pub(crate) struct Meta {
    node: Option<Arc<Node>>,
    requires_grad: AtomicBool,
    leaf: OnceLock<Arc<Leaf>>,
}

impl Meta {
    /// The metadata of a tensor without history, which requires no gradients.
    pub(crate) const fn none() -> Meta {
        Meta { node: None, requires_grad: AtomicBool::new(false), leaf: OnceLock::new() }
    }

    /// The metadata of a leaf.
    pub(crate) const fn leaf(requires_grad: bool) -> Meta {
        Meta { node: None, requires_grad: AtomicBool::new(requires_grad), leaf: OnceLock::new() }
    }

    /// The metadata of the output of a recorded operation.
    pub(crate) fn of(node: Arc<Node>) -> Meta {
        Meta { node: Some(node), ..Meta::none() }
    }

    pub(crate) fn node(&self) -> Option<&Arc<Node>> {
        self.node.as_ref()
    }

    pub(crate) fn requires_grad(&self) -> bool {
        self.node.is_some() || self.requires_grad.load(Ordering::Relaxed)
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
        self.leaf.get_or_init(|| Arc::new(Leaf::new(Form::of(tensor))))
    }

    /// The edge that the gradient of `tensor`, whose metadata this is, goes along (PyTorch's
    /// `gradient_edge`); `None` if no gradient is required.
    pub(crate) fn edge(&self, tensor: &Tensor) -> Option<Edge> {
        match &self.node {
            Some(node) => Some(Edge::Node(Arc::clone(node))),
            None if self.requires_grad() => Some(Edge::Leaf(Arc::clone(self.leaf_of(tensor)))),
            None => None,
        }
    }
}
