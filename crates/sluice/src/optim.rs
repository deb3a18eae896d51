//! Optimizers: they change parameters by their gradients (`torch.optim`).

pub use nn::optim::*;
