//! Automatic differentiation: operations are recorded in a graph, which the backward pass walks
//! back.
//!
//! An operation on tensors that require gradients records a [`Node`](crate::tensor::Node): its
//! backward function, and edges to the nodes and leaves that its inputs came from.
//! [`Tensor::backward`] walks the nodes in an order that follows from the graph alone, each on the
//! stream of its forward operation, and adds what arrives at the leaves to their gradients.
//!
//! [`Tensor::backward`]: crate::Tensor::backward

mod anomaly;
mod backward;
mod engine;
mod history;
mod hooks;
mod in_place;
mod methods;
mod mode;
mod record;
mod saved;
mod saved_bytes;

pub use anomaly::DetectAnomalyGuard;
pub use backward::{Backward, grad};

pub use hooks::RemovableHandle;
pub(crate) use in_place::InPlace;
pub use mode::{
    GradGuard, InferenceModeGuard, NoGradGuard, enable_grad, inference_mode, is_grad_enabled,
    is_inference_mode_enabled, no_grad,
};
pub(crate) use mode::{GradModeGuard, enter_grad_mode};
pub(crate) use record::{record, record_many, record_outputs};
pub(crate) use saved::{SavedTensor, Saving};
pub use saved_bytes::saved_bytes;
