//! Gradients: the backward pass, modes, and functions of one's own (`torch.autograd`).

pub use tensor::{
    AutogradError, AutogradFunction, Backward, BackwardContext, DetectAnomalyGuard, ForwardContext,
    GradGuard, HookList, InferenceModeGuard, MovedLeaf, NoGradGuard, RemovableHandle, checkpoint,
    enable_grad, grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad,
    saved_bytes,
};
