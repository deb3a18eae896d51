//! The errors of models that are trained by several ranks.

use std::fmt;

/// The reason why the gradients of a model could not be reduced over its ranks.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DistributedError {
    /// Parameters got no gradient in a backward pass.
    #[error(
        "DistributedDataParallel: the backward pass on rank {rank} reached no {}; if the model is \
         not to use all of its parameters in each pass, build it with find_unused_parameters(true), \
         or freeze those with requires_grad_(false)",
        .names.join(", ")
    )]
    UnusedParameters {
        /// The rank.
        rank: usize,
        /// The parameters' dotted names.
        names: Vec<String>,
    },
    /// A parameter's gradient was added to again after it had been handed over.
    #[error(
        "DistributedDataParallel: the gradient of {name} was complete twice in one backward pass on \
         rank {rank}: a backward pass within the pass adds to it as well"
    )]
    ReadyTwice {
        /// The rank.
        rank: usize,
        /// The parameter's dotted name.
        name: String,
    },
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for DistributedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error as one of tensors, which modules and programs have.
impl From<DistributedError> for tensor::Error {
    fn from(error: DistributedError) -> tensor::Error {
        tensor::Error::other(error)
    }
}
