//! Conversions between types of numbers.

use crate::operation::{Clamp, Rounding};
use crate::types::ScalarType;

/// Conversion between number types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvertForm {
    /// The type of the result.
    pub to: ScalarType,
    /// The type of the source.
    pub from: ScalarType,
    /// The rounding of a result that lies between two numbers.
    pub rounding: Rounding,
    /// Rounds to a whole number; for results that are floating-point numbers of the source's type.
    pub integral: bool,
    /// Subnormal sources and results count as zero.
    pub ftz: bool,
    /// The clamping of the rounded result.
    pub clamp: Clamp,
    /// Infinities and values out of range become the largest finite number.
    pub finite: bool,
}

/// Conversion between pairs of 8-bit floating-point numbers and wider ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvertBytesForm {
    /// The type of the result.
    pub to: ScalarType,
    /// `F32` for two sources, the first one for the upper byte; else a pair.
    pub from: ScalarType,
    /// Negative numbers become 0.
    pub relu: bool,
}
