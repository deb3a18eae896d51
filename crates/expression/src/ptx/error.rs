//! Errors of the printer.

use thiserror::Error;

use crate::{ComputeType, DType, Primitive};

/// The reason why an expression cannot be printed as a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PrintError {
    /// More operands or numbers than a kernel's argument has room for.
    #[error("a kernel takes at most {max} {what}, and the expression has {given}: split it")]
    TooMany {
        /// `inputs`, `outputs` or `scalars`.
        what: &'static str,
        /// The number that the expression has.
        given: usize,
        /// The number that there is room for.
        max: usize,
    },
    /// A list of dtypes is longer or shorter than the list of operands.
    #[error("the expression has {expected} {what}, and {given} dtypes were given for them")]
    Count {
        /// `inputs` or `outputs`.
        what: &'static str,
        /// The number that the expression has.
        expected: usize,
        /// The number of dtypes.
        given: usize,
    },
    /// An operand is stored in a dtype that is computed with in another type.
    #[error(
        "{what} {number} is {expected:?} in the expression, and {dtype} is computed in {given:?}"
    )]
    Type {
        /// `input` or `output`.
        what: &'static str,
        /// The number of the operand.
        number: usize,
        /// The dtype in memory.
        dtype: DType,
        /// The type that the expression has there.
        expected: ComputeType,
        /// The type that the dtype is computed in.
        given: ComputeType,
    },
    /// An output that is said to be the same in all columns of a row.
    #[error("output {number} is repeated along rows: each of its elements must lie by itself")]
    RepeatedOutput {
        /// The number of the output.
        number: usize,
    },
    /// A layout of no dimensions, or of more than an argument has room for.
    #[error("a strided kernel has 1 to {max} dimensions, not {given}")]
    Dimensions {
        /// The number that was asked for.
        given: usize,
        /// The number that there is room for.
        max: usize,
    },
    /// There is no code for a function.
    #[error("there is no PTX for {primitive:?} of {of:?}")]
    Unsupported {
        /// The function.
        primitive: Primitive,
        /// The type of its first operand.
        of: ComputeType,
    },
}
