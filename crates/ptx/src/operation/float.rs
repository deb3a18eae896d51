//! Operations on floating-point numbers.

use crate::types::ScalarType;

/// A floating-point operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FloatForm {
    /// The function that is computed.
    pub op: FloatOp,
    /// The type of the operands, packed pairs included.
    pub ty: ScalarType,
    /// The rounding of a result that lies between two numbers.
    pub rounding: Rounding,
    /// Subnormal operands and results count as zero.
    pub ftz: bool,
    /// The clamping of the rounded result.
    pub clamp: Clamp,
}

/// The floating-point operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatOp {
    /// `add`
    Add,
    /// `sub`
    Sub,
    /// `mul`
    Multiply,
    /// `fma`: a * b + c, rounded once.
    FusedMultiplyAdd,
    /// `div`
    Divide,
    /// `min`
    Minimum(MinMax),
    /// `max`
    Maximum(MinMax),
    /// `neg`
    Negate,
    /// `abs`
    Absolute,
    /// The second source with the sign of the first.
    CopySign,
    /// `sqrt`
    SquareRoot,
    /// `rcp`
    Reciprocal,
    /// `rsqrt`
    ReciprocalSquareRoot,
    /// `rcp.approx.ftz.f64`: only the upper halves of operand and result count.
    GrossReciprocal,
    /// `rsqrt.approx.ftz.f64`: only the upper halves of operand and result count.
    GrossReciprocalSquareRoot,
    /// `sin`
    Sine,
    /// `cos`
    Cosine,
    /// `lg2`
    Log2,
    /// `ex2`
    Exp2,
    /// `tanh`
    Tanh,
}

/// Variants of minimum and maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MinMax {
    /// A NaN among the operands gives NaN; otherwise the other operand wins.
    pub nan: bool,
    /// Compares magnitudes, and gives the result the exclusive-or of the signs.
    pub xor_sign: bool,
}

/// The rounding mode: which of its two neighbours a result becomes that lies between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// `.rn`: the nearer, and of two as near the even one.
    Nearest,
    /// `.rz`
    TowardZero,
    /// `.rm`: toward minus infinity.
    Down,
    /// `.rp`: toward infinity.
    Up,
}

/// The clamping of a floating-point result, after it was rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clamp {
    /// Nothing.
    None,
    /// To [0, 1], NaN to 0.
    Saturate,
    /// Negative to 0, NaN stays.
    Relu,
}
