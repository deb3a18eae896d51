//! Automatic differentiation: operations are recorded in a graph, which the backward pass walks
//! back.
//!
//! An operation on tensors that require gradients records a [`Node`](crate::tensor::Node): its
//! backward function, and edges to the nodes and leaves that its inputs came from.
//! [`Tensor::backward`] walks the nodes in an order that follows from the graph alone, each on the
//! stream of its forward operation, and adds what arrives at the leaves to their gradients.
//!
//! [`Tensor::backward`]: crate::Tensor::backward

mod backward;
mod engine;
mod methods;
mod mode;
mod record;
mod saved;

pub use backward::{Backward, grad};

pub(crate) use mode::{GradModeGuard, enter_grad_mode};
pub use mode::{NoGradGuard, enable_grad, is_grad_enabled, no_grad};
pub(crate) use record::{check_in_place, record, record_many};
pub(crate) use saved::SavedTensor;
