//! Operations on integers.

use crate::types::ScalarType;

/// An integer operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntegerForm {
    /// The function that is computed.
    pub op: IntegerOp,
    /// The type of the operands.
    pub ty: ScalarType,
}

/// The integer operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntegerOp {
    /// `add`
    Add {
        /// `.sat`: a result out of range becomes the nearest in range.
        saturate: bool,
    },
    /// `sub`
    Sub {
        /// The result stays in the range of the type instead of wrapping.
        saturate: bool,
    },
    /// `mul`
    Multiply(ProductPart),
    /// `mad`: a * b + c.
    MultiplyAdd {
        /// The part of the product that is taken, before c is added.
        part: ProductPart,
        /// The result stays in the range of the type instead of wrapping.
        saturate: bool,
    },
    /// `mul24`: the product of the low 24 bits of the sources; never [`ProductPart::Wide`].
    Multiply24(ProductPart),
    /// `mad24`: that product plus c.
    MultiplyAdd24 {
        /// The part of the product that is taken, before c is added.
        part: ProductPart,
        /// The result stays in the range of the type instead of wrapping.
        saturate: bool,
    },
    /// `add.cc`, `addc`
    AddCarry(Carry),
    /// `sub.cc`, `subc`, where the carry is a borrow.
    SubCarry(Carry),
    /// `mad.cc`, `madc`
    MultiplyAddCarry {
        /// The part of the product that is taken, before c is added.
        part: ProductPart,
        /// The carry flag's use in the addition of c.
        carry: Carry,
    },
    /// `div`
    Divide,
    /// `rem`
    Remainder,
    /// `min`
    Minimum,
    /// `max`
    Maximum,
    /// `abs`
    Absolute,
    /// `neg`
    Negate,
    /// |a - b| + c.
    SumOfDifferences,
    /// Dot product of four bytes each, added to c.
    DotProduct4 {
        /// Whether a's bytes are signed.
        a_signed: bool,
        /// Whether b's bytes are signed.
        b_signed: bool,
    },
    /// Dot product of a's two halves and two of b's bytes, added to c.
    DotProduct2 {
        /// Whether a's halves are signed.
        a_signed: bool,
        /// Whether b's bytes are signed.
        b_signed: bool,
        /// Whether b's upper two bytes are taken.
        high: bool,
    },
}

/// The part of a product that is the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProductPart {
    /// `.lo`: the lower half.
    Low,
    /// `.hi`: the upper half.
    High,
    /// All of it, in a register of twice the width.
    Wide,
}

/// Whether an operation adds the carry flag, and whether it sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Carry {
    /// Adds the flag.
    pub takes: bool,
    /// Sets the flag.
    pub gives: bool,
}
