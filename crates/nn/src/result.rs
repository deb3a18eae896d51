//! The result type of the crate, with the errors of tensor operations.

/// The result of a module's or an optimizer's work.
pub type Result<T, E = tensor::Error> = tensor::Result<T, E>;
