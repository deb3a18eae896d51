//! The result type of the crate: modules and optimizers fail as the tensor operations they are made of.

/// The result of a module's or an optimizer's work.
pub type Result<T> = tensor::Result<T>;
