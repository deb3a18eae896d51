//! A tensor's place in the graph: computed by a node, a leaf that requires gradients, or neither.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::leaf::{Form, Leaf};
use super::node::{Edge, Node};
use crate::Tensor;

/// What autograd knows of a tensor; nothing, and no allocation, for most.
pub(crate) struct Meta {
    node: Option<Arc<Node>>,
    requires_grad: AtomicBool,
    leaf: OnceLock<Arc<Leaf>>,
}

impl Meta {
    /// A tensor that autograd does not know.
    pub(crate) const fn none() -> Meta {
        Meta { node: None, requires_grad: AtomicBool::new(false), leaf: OnceLock::new() }
    }

    /// A tensor that no recorded operation computed.
    pub(crate) const fn leaf(requires_grad: bool) -> Meta {
        Meta { node: None, requires_grad: AtomicBool::new(requires_grad), leaf: OnceLock::new() }
    }

    /// The output of a recorded operation.
    pub(crate) fn of(node: Arc<Node>) -> Meta {
        Meta { node: Some(node), ..Meta::none() }
    }

    pub(crate) fn node(&self) -> Option<&Arc<Node>> {
        self.node.as_ref()
    }

    pub(crate) fn requires_grad(&self) -> bool {
        self.node.is_some() || self.requires_grad.load(Ordering::Relaxed)
    }

    /// Of a leaf only: the output of a node requires gradients always.
    pub(crate) fn set_requires_grad(&self, requires_grad: bool) {
        self.requires_grad.store(requires_grad, Ordering::Relaxed);
    }

    /// The leaf's own place for its gradient, where there is one already.
    pub(crate) fn existing_leaf(&self) -> Option<&Arc<Leaf>> {
        self.leaf.get()
    }

    /// The place for the gradient of `tensor`, whose meta this is.
    pub(crate) fn leaf_of(&self, tensor: &Tensor) -> &Arc<Leaf> {
        self.leaf.get_or_init(|| Arc::new(Leaf::new(Form::of(tensor))))
    }

    /// Where the gradient of `tensor`, whose meta this is, flows to; `None` where none is required.
    pub(crate) fn edge(&self, tensor: &Tensor) -> Option<Edge> {
        match &self.node {
            Some(node) => Some(Edge::Node(Arc::clone(node))),
            None if self.requires_grad() => Some(Edge::Leaf(Arc::clone(self.leaf_of(tensor)))),
            None => None,
        }
    }
}
