//! The present history of a tensor: views take over what operations in place did to their base.

use std::sync::Arc;

use smallvec::smallvec;

use super::record::forward_stream;
use crate::layout::LayoutRegion;
use crate::tensor::{
    BackwardFunction, Edge, Form, Gradients, Node, NodeBackward, NodeOutput, NodeParts,
};
use crate::{Result, Tensor};

/// The output of a node that the tensor is; `None` for a leaf.
///
/// If the memory that a view shows was written in place since its history was made, the history
/// begins anew at its base, which has the history of everything that was written (as in PyTorch,
/// where `grad_fn` does so). Where the base requires no gradients, though a view of it was made a
/// leaf that does, the gradient ends there, as in PyTorch, too.
#[inline]
pub(crate) fn output_of(tensor: &Tensor) -> Option<NodeOutput> {
    let meta = tensor.autograd();
    let Some(view) = tensor.view_of_base() else { return meta.history() };
    let now = tensor.storage().version();
    let right_for = meta.version_of_history().unwrap_or(view.version);
    let own = meta.history();
    if right_for == now || (own.is_none() && !view.base.requires_grad()) {
        return own;
    }
    let output = part_of_base(&view.base, tensor);
    meta.replace_history(output.clone(), now);
    Some(output)
}

/// The edge that the gradient of a tensor goes along (PyTorch's `gradient_edge`); `None` if no
/// gradient is required, or if it is a view that was made while nothing was recorded: that says
/// that it requires gradients, as its base does, but none flow to it.
#[inline]
pub(crate) fn edge_of(tensor: &Tensor) -> Option<Edge> {
    let mut edge = None;
    set_edge(&mut edge, tensor);
    edge
}

/// Sets what is none to [`edge_of`] a tensor, where it stays. An edge that is put together first is
/// written in two parts and read as one when it is copied, which waits for both to reach the cache.
#[inline(always)]
pub(super) fn set_edge(edge: &mut Option<Edge>, tensor: &Tensor) {
    if !tensor.requires_grad() {
        return;
    }
    match output_of(tensor) {
        Some(output) => *edge = Some(Edge::Node(output)),
        None if !tensor.autograd().is_set_to_require_grad() => {}
        None => *edge = Some(Edge::Leaf(Arc::clone(tensor.autograd().leaf_of(tensor)))),
    }
}

/// A node by which a view is a part of its base.
#[track_caller]
fn part_of_base(base: &Tensor, view: &Tensor) -> NodeOutput {
    let region = LayoutRegion::new(base.layout().clone(), view.layout().clone());
    let parts = NodeParts {
        name: "as_strided",
        place: std::panic::Location::caller(),
        inputs: smallvec![edge_of(base)],
        outputs: smallvec![Form::of(view)],
        stream: forward_stream(view),
    };
    let function = move |gradients: &[Option<Tensor>], needs: &[bool]| -> Result<Gradients> {
        let needed = gradients[0].as_ref().filter(|_| needs[0]);
        let gradient = needed.map(|gradient| gradient.spread(&region));
        Ok(smallvec![gradient.transpose()?])
    };
    let mut node = Node::new(parts);
    let function = BackwardFunction::new(function);
    Node::complete(&mut node, NodeBackward { function, saved: smallvec![] });
    NodeOutput { node, index: 0 }
}
