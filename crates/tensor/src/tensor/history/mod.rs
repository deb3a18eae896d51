//! The history of a tensor: the operation that computed it, or the leaf where its gradient ends.
//!
//! These types and [`Tensor`](crate::Tensor) hold each other, so they lie beside it; the module
//! `autograd` records operations and walks back through them.

mod leaf;
mod lineage;
mod meta;
mod node;

pub(crate) use leaf::{Form, Leaf};
pub(crate) use meta::Meta;
pub(crate) use node::{BackwardFunction, Edge, EdgeId, Gradients, GraphRetention, Node};
