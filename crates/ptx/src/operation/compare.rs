//! Comparisons and tests.

use crate::types::ScalarType;

/// Comparison of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompareForm {
    /// The relation that is tested.
    pub comparison: Comparison,
    /// The type of the values.
    pub ty: ScalarType,
    /// Subnormal values count as zero.
    pub ftz: bool,
    /// The function that joins the result with a further predicate, the third source.
    pub combine: Option<Combine>,
    /// `Pred` for `setp`; for `set` all ones or 1.0 where true, and 0 elsewhere.
    pub result: ScalarType,
}

impl CompareForm {
    /// A comparison of integers whose result is one predicate.
    pub(crate) fn integers(comparison: Comparison, ty: ScalarType) -> CompareForm {
        let result = ScalarType::Pred;
        CompareForm { comparison, ty, ftz: false, combine: None, result }
    }
}

/// The comparisons; of floating-point numbers those without `Unordered` are false where one is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `eq`
    Equal,
    /// `ne`
    NotEqual,
    /// `lt`
    Less,
    /// `le`
    LessEqual,
    /// `gt`
    Greater,
    /// `ge`
    GreaterEqual,
    /// `lo`: less, as unsigned numbers, whatever the type says.
    Lower,
    /// `ls`: lower or same, as unsigned numbers.
    LowerSame,
    /// `hi`: as unsigned numbers.
    Higher,
    /// `hs`: higher or same, as unsigned numbers.
    HigherSame,
    /// `equ`: equal, or one is NaN.
    EqualUnordered,
    /// `neu`
    NotEqualUnordered,
    /// `ltu`
    LessUnordered,
    /// `leu`
    LessEqualUnordered,
    /// `gtu`
    GreaterUnordered,
    /// `geu`
    GreaterEqualUnordered,
    /// Neither is NaN.
    Ordered,
    /// One of them is NaN.
    Unordered,
}

/// The functions with which `setp` joins a comparison with a further predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// `and`
    And,
    /// `or`
    Or,
    /// `xor`
    Xor,
}

/// The classes of numbers that `testp` tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatClass {
    /// Neither infinite nor NaN.
    Finite,
    /// Plus or minus infinity.
    Infinite,
    /// Anything but NaN.
    Number,
    /// NaN.
    NotANumber,
    /// Finite, and neither subnormal nor zero.
    Normal,
    /// Smaller than the smallest normal number, and not zero.
    Subnormal,
}
