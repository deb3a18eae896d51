//! The history of a tensor: the operation that computed it, or the leaf where its gradient ends.
//!
//! These types and [`Tensor`](crate::Tensor) hold each other, so they lie beside it; the module
//! `autograd` records operations and walks back through them.

mod form;
mod hooks;
mod leaf;
mod lineage;
mod meta;
mod node;

pub(crate) use form::Form;
pub(crate) use hooks::Hook;
pub(crate) use leaf::Leaf;
pub(crate) use meta::{Meta, ViewCreation, ViewOf};
pub(crate) use node::{
    BackwardFunction, Edge, EdgeId, EndId, Gradients, GradientsOf, GraphRetention, InputEdges,
    Node, NodeBackward, NodeOutput, NodeParts, OutputForms, SavedStorage,
};
