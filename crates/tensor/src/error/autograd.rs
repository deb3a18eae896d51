//! The errors of automatic differentiation.

use std::fmt;
use std::panic::Location;

use crate::{DType, Device, Error, Shape};

/// The reason why gradients could not be computed, or a tensor could not take part in them.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AutogradError {
    // Before the backward pass.
    /// Nothing that the output was computed from requires a gradient.
    #[error(
        "backward: the output does not require gradients: nothing it was computed from does; \
         call .requires_grad_(true) on the leaves first, and mind no_grad"
    )]
    NothingRequiresGrad,
    /// Only a single number has a gradient of its own.
    #[error(
        "backward: the output has shape {shape}, so its gradient is not obvious; \
         reduce it to one number, or give the gradient with .backward_with(&gradient)"
    )]
    NotScalar {
        /// The output's shape.
        shape: Shape,
    },
    /// A gradient was given that does not look like the tensor it belongs to.
    #[error(
        "{op}: a gradient of shape {}, {} on {} for a tensor of shape {}, {} on {}; they must be equal",
        found.0, found.1, found.2, expected.0, expected.1, expected.2
    )]
    GradientMismatch {
        /// The operation.
        op: &'static str,
        /// Shape, dtype and device of the tensor.
        expected: Box<(Shape, DType, Device)>,
        /// Shape, dtype and device of the gradient.
        found: Box<(Shape, DType, Device)>,
    },
    /// A tensor was to be its own gradient, and the next backward pass would have added to both.
    #[error(
        "set_grad: a tensor of shape {shape} cannot be its own gradient; give it a clone_data()"
    )]
    OwnGradient {
        /// The tensor's shape.
        shape: Shape,
    },
    /// One of the tensors to differentiate by does not require gradients.
    #[error(
        "grad: input {index} does not require gradients; call .requires_grad_(true) before it is used"
    )]
    InputRequiresNoGrad {
        /// Its position among the inputs.
        index: usize,
    },

    /// A hook was put on a tensor that gets no gradient.
    #[error("{op}: the tensor does not require gradients; call .requires_grad_(true) first")]
    RequiresNoGrad {
        /// The operation.
        op: &'static str,
    },

    // During the backward pass.
    /// An earlier pass went through the graph, and freed its saved tensors.
    #[error(
        "backward through `{op}` a second time: what it had saved was freed by the first; \
         use Backward::retain_graph for the first, or run the forward pass again"
    )]
    GraphFreed {
        /// The first operation that was met for the second time.
        op: &'static str,
    },
    /// A tensor that the gradient needs was changed in place after it was saved.
    #[error(
        "a tensor of shape {shape} that the gradient needs was modified in place \
         (saved at version {saved}, now at {now}); use the operation without `_`, or modify a copy"
    )]
    Modified {
        /// The tensor's shape.
        shape: Shape,
        /// Its version (the number of changes) when it was saved.
        saved: u64,
        /// Its version now.
        now: u64,
    },
    /// The backward function of an operation failed.
    #[error("backward through `{op}` (called at {place}): {source}")]
    Backward {
        /// The operation.
        op: &'static str,
        /// The forward call.
        place: &'static Location<'static>,
        /// The error.
        source: Box<Error>,
    },

    /// The gradient of an operation was to be differentiated again, and has no gradient itself.
    #[error("the gradient of `{op}` has no gradient of its own; run the pass without create_graph")]
    NoSecondDerivative {
        /// The operation.
        op: &'static str,
    },

    /// A backward function gave NaN, and anomaly mode looks for that.
    #[error(
        "backward through `{op}` (called at {place}) gave NaN in the gradient of its input {input}"
    )]
    NotANumber {
        /// The operation.
        op: &'static str,
        /// The forward call.
        place: &'static Location<'static>,
        /// The position of the input among the operation's tensors.
        input: usize,
    },
    /// A tensor of inference mode was saved for the backward pass, which cannot know whether it was
    /// changed since.
    #[error(
        "a tensor of shape {shape} that the gradient needs was made in inference mode; \
         give the operation a clone_data() that is made outside of it"
    )]
    InferenceSaved {
        /// The tensor's shape.
        shape: Shape,
    },

    /// A part of the program that was run again for the backward pass did something else than the
    /// first time.
    #[error(
        "checkpoint: the function saved {first} tensors when it was called, and {again} when it was \
         called again for the backward pass; it must do the same each time"
    )]
    RecomputationDiffers {
        /// The number of tensors that the first call saved.
        first: usize,
        /// The number of the second call.
        again: usize,
    },

    // Changes of a tensor's part in the graph.
    /// An operation in place on a leaf, whose value before would be lost to the graph.
    #[error(
        "{op}: {target} that requires gradients cannot be changed in place; \
         use the operation without `_`, detach() it, or put the call into no_grad(|| ..)"
    )]
    InPlaceOnLeaf {
        /// The operation.
        op: &'static str,
        /// The target in words: a leaf, or a view of one.
        target: &'static str,
    },
    /// An operation in place on a view that was made in a way which keeps it from being recorded.
    #[error(
        "{op}: the view was made {creation}, so that writing it in place cannot be recorded; \
         use the operation without `_`, or a view of its own (narrow, select) made in grad mode"
    )]
    InPlaceOnView {
        /// The operation.
        op: &'static str,
        /// The way in which it was made.
        creation: &'static str,
    },
    /// An operation that would need a version or a history of a tensor that was made in inference
    /// mode.
    #[error(
        "{op}: the tensor was made in inference mode, and can take part in this only inside of it; \
         make a clone_data() outside"
    )]
    InferenceTensor {
        /// The operation.
        op: &'static str,
    },
    /// Only floating-point tensors have gradients.
    #[error(
        "{op}: a tensor of dtype {dtype} has no gradient; convert it with .to(DType::F32) first"
    )]
    NotDifferentiable {
        /// The operation.
        op: &'static str,
        /// The tensor's dtype.
        dtype: DType,
    },
    /// The flag or the gradient of a tensor can be set only on a leaf of the graph.
    #[error(
        "{op}: the tensor was computed by `{computed_by}`; only leaves can be changed, so detach() it first"
    )]
    NotLeaf {
        /// The operation.
        op: &'static str,
        /// The operation that the tensor is the result of.
        computed_by: &'static str,
    },
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for AutogradError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
