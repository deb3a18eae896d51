//! Automatic differentiation: operations are recorded in a graph, which the backward pass walks
//! back.
//!
//! An operation on tensors that require gradients records a [`Node`](crate::tensor::Node): its
//! backward function, and edges to the nodes and leaves that its inputs came from.
//! [`Tensor::backward`] walks the nodes in an order that follows from the graph alone, each on the
//! stream of its forward operation, and adds what arrives at the leaves to their gradients.
//!
//! - `record`: operations become nodes; `saved`: what they keep; `recompute`: what they do not keep.
//! - `in_place`: writes give tensors another history; `history`: views take it over from their base.
//! - `backward`, `engine`: the pass. `hooks`, `anomaly`: what can be watched of it.
//! - `function`: operations of the program's own.
//!
//! [`Tensor::backward`]: crate::Tensor::backward

mod anomaly;
mod backward;
mod engine;
mod function;
mod graph_size;
mod history;
mod hooks;
mod in_place;
mod methods;
mod recompute;
mod record;
mod saved;

pub use anomaly::DetectAnomalyGuard;
pub use backward::{Backward, grad};

pub use crate::grad_mode::{
    GradGuard, InferenceModeGuard, NoGradGuard, enable_grad, inference_mode, is_grad_enabled,
    is_inference_mode_enabled, no_grad,
};
pub(crate) use crate::grad_mode::{GradModeGuard, enter_grad_mode};
pub use function::{AutogradFunction, BackwardContext, ForwardContext};
pub use graph_size::saved_bytes;
pub(crate) use in_place::InPlace;
pub(crate) use recompute::{Recomputation, recomputed};
pub(crate) use record::{record, record_many, record_outputs, record_product, record_with};
pub(crate) use saved::{SavedTensor, Saving, WatchedTensor};
