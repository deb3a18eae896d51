//! Conversions between types of numbers.

use crate::operation::{Clamp, Rounding};
use crate::types::ScalarType;

/// Conversion between number types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvertForm {
    /// Of the result.
    pub to: ScalarType,
    /// Of the source.
    pub from: ScalarType,
    /// Of a result between two numbers.
    pub rounding: Rounding,
    /// Rounds to a whole number; for results that are floating-point numbers of the source's type.
    pub integral: bool,
    /// Subnormal sources and results count as zero.
    pub ftz: bool,
    /// What becomes of the rounded result.
    pub clamp: Clamp,
    /// Infinities and values out of range become the largest finite number.
    pub finite: bool,
}

/// Conversion between pairs of 8-bit floating-point numbers and wider ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvertBytesForm {
    /// Of the result.
    pub to: ScalarType,
    /// `F32` for two sources, the first one for the upper byte; else a pair.
    pub from: ScalarType,
    /// Negative numbers become 0.
    pub relu: bool,
}
