//! The functions that expressions are made of.

use crate::ComputeType;

/// An elementwise function of one to three values, of which every backend has an implementation for
/// each type that [`Primitive::result_type`] allows.
///
/// "Floats" are `F64` and `F32`, "integers" `I64` and `I32`. Integer arithmetic wraps around, and
/// division of an integer by zero gives 0. Values of `Bool` are 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    // One operand.
    /// `-x`; floats and integers.
    Neg,
    /// The absolute value; floats and integers. The smallest integer stays as it is.
    Abs,
    /// The bits inverted, or "not"; integers and `Bool`.
    Not,
    /// Floats, as all that follow.
    Sqrt,
    /// `1 / sqrt(x)`
    Rsqrt,
    /// Rounded down.
    Floor,
    /// Rounded up.
    Ceil,
    /// Rounded to the nearest integer, halves to even.
    Round,
    /// Rounded towards zero.
    Trunc,
    /// e to the power of `x`.
    Exp,
    /// 2 to the power of `x`.
    Exp2,
    /// `exp(x) - 1`, exact near 0.
    Expm1,
    /// The natural logarithm.
    Log,
    /// The logarithm to base 2.
    Log2,
    /// The logarithm to base 10.
    Log10,
    /// `log(1 + x)`, exact near 0.
    Log1p,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Arc sine.
    Asin,
    /// Arc cosine.
    Acos,
    /// Arc tangent.
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// The logistic function, `1 / (1 + exp(-x))`.
    Sigmoid,
    /// The error function.
    Erf,
    /// `1 - erf(x)`, exact for large `x`.
    Erfc,
    /// The inverse of [`Primitive::Erf`].
    Erfinv,
    /// The logarithm of the absolute value of the gamma function.
    Lgamma,
    /// The derivative of [`Primitive::Lgamma`].
    Digamma,
    /// The value in another type. Floats are cut towards zero, and brought into the range of an
    /// integer type; NaN becomes 0 there. `I64` is cut to its low bits in `I32`. To `Bool`: whether
    /// it differs from zero.
    Convert(ComputeType),

    // Two operands of one type.
    /// `a + b`; floats and integers.
    Add,
    /// `a - b`; floats and integers.
    Sub,
    /// `a * b`; floats and integers.
    Mul,
    /// `a / b`; floats. Integers are cut towards zero.
    Div,
    /// `a / b` rounded down (Python's `//`); floats and integers.
    FloorDiv,
    /// The remainder with the sign of `b` (Python's `%`); floats and integers.
    Remainder,
    /// The remainder with the sign of `a` (C's `fmod`); floats and integers.
    Fmod,
    /// `a` to the power of `b`; floats and integers. An integer to a negative power is 0, except
    /// for 1 and -1.
    Pow,
    /// The angle of the point `(b, a)`; floats.
    Atan2,
    /// `sqrt(a² + b²)` without overflow; floats.
    Hypot,
    /// The regularized lower incomplete gamma function of the parameter `a` at `b`; floats.
    Igamma,
    /// The regularized upper incomplete gamma function: 1 less [`Primitive::Igamma`]; floats.
    Igammac,
    /// The size of `a` with the sign of `b`; floats.
    Copysign,
    /// The number next to `a` towards `b`; floats.
    Nextafter,
    /// The larger one; NaN if one of them is. Of a positive and a negative zero it is either, as of
    /// the three that follow. Floats and integers.
    Max,
    /// The smaller one; NaN if one of them is. Floats and integers.
    Min,
    /// The larger one; if one is NaN, the other. Floats.
    Fmax,
    /// The smaller one; if one is NaN, the other. Floats.
    Fmin,
    /// Bitwise "and"; integers and `Bool`.
    And,
    /// Bitwise "or"; integers and `Bool`.
    Or,
    /// Bitwise "exclusive or"; integers and `Bool`.
    Xor,
    /// `a << b`, 0 where `b` is negative or not less than the number of bits; integers.
    Shl,
    /// `a >> b` with the sign kept, and the sign alone where `b` is negative or not less than the
    /// number of bits; integers.
    Shr,
    /// The greatest common divisor; integers.
    Gcd,
    /// Any type to `Bool`, as the five that follow: `a == b`.
    Eq,
    /// `a != b`
    Ne,
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `a > b`
    Gt,
    /// `a >= b`
    Ge,

    // Three operands.
    /// The second operand where the first, a `Bool`, is true, else the third; any type.
    Select,
}

impl Primitive {
    /// Every primitive, conversions to each type among them; for tables and tests.
    #[rustfmt::skip]
    pub const ALL: [Primitive; 70] = {
        use Primitive::*;
        [
            Neg, Abs, Not, Sqrt, Rsqrt, Floor, Ceil, Round, Trunc, Exp, Exp2, Expm1, Log, Log2,
            Log10, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh,
            Sigmoid, Erf, Erfc, Erfinv, Lgamma, Digamma, Convert(ComputeType::F64),
            Convert(ComputeType::F32), Convert(ComputeType::I64), Convert(ComputeType::I32),
            Convert(ComputeType::Bool), Add, Sub, Mul, Div, FloorDiv, Remainder, Fmod, Pow, Atan2,
            Hypot, Igamma, Igammac, Copysign, Nextafter, Max, Min, Fmax, Fmin, And, Or, Xor, Shl,
            Shr, Gcd, Eq, Ne, Lt, Le, Gt, Ge, Select,
        ]
    };

    /// The name in the text form of expressions: `add`, `floor_div`, `select`.
    #[expect(clippy::too_many_lines, reason = "a table")]
    pub const fn name(self) -> &'static str {
        use Primitive::*;
        match self {
            Neg => "neg",
            Abs => "abs",
            Not => "not",
            Sqrt => "sqrt",
            Rsqrt => "rsqrt",
            Floor => "floor",
            Ceil => "ceil",
            Round => "round",
            Trunc => "trunc",
            Exp => "exp",
            Exp2 => "exp2",
            Expm1 => "expm1",
            Log => "log",
            Log2 => "log2",
            Log10 => "log10",
            Log1p => "log1p",
            Sin => "sin",
            Cos => "cos",
            Tan => "tan",
            Asin => "asin",
            Acos => "acos",
            Atan => "atan",
            Sinh => "sinh",
            Cosh => "cosh",
            Tanh => "tanh",
            Asinh => "asinh",
            Acosh => "acosh",
            Atanh => "atanh",
            Sigmoid => "sigmoid",
            Erf => "erf",
            Erfc => "erfc",
            Erfinv => "erfinv",
            Lgamma => "lgamma",
            Digamma => "digamma",
            Convert(_) => "convert",
            Add => "add",
            Sub => "sub",
            Mul => "mul",
            Div => "div",
            FloorDiv => "floor_div",
            Remainder => "remainder",
            Fmod => "fmod",
            Pow => "pow",
            Atan2 => "atan2",
            Hypot => "hypot",
            Igamma => "igamma",
            Igammac => "igammac",
            Copysign => "copysign",
            Nextafter => "nextafter",
            Max => "max",
            Min => "min",
            Fmax => "fmax",
            Fmin => "fmin",
            And => "and",
            Or => "or",
            Xor => "xor",
            Shl => "shl",
            Shr => "shr",
            Gcd => "gcd",
            Eq => "eq",
            Ne => "ne",
            Lt => "lt",
            Le => "le",
            Gt => "gt",
            Ge => "ge",
            Select => "select",
        }
    }

    /// Whether `f(a, b)` is `f(b, a)`, and its derivative as well: those of `Fmax` and `Fmin` prefer
    /// the first of equal operands.
    pub const fn is_commutative(self) -> bool {
        use Primitive::*;
        matches!(self, Add | Mul | Max | Min | And | Or | Xor | Gcd | Eq | Ne | Hypot)
    }

    /// Whether IEEE 754 or integer arithmetic determines every bit of the result (but for which NaN
    /// it is), so that all backends agree. The others are approximated, each within its bound.
    pub const fn is_exact(self, of: ComputeType) -> bool {
        use Primitive::*;
        match self {
            Pow => !of.is_float(),
            Rsqrt | Exp | Exp2 | Expm1 | Log | Log2 | Log10 | Log1p | Sin | Cos | Tan | Asin
            | Acos | Atan | Sinh | Cosh | Tanh | Asinh | Acosh | Atanh | Sigmoid | Erf | Erfc
            | Erfinv | Lgamma | Digamma | Atan2 | Hypot | Igamma | Igammac => false,
            _ => true,
        }
    }

    /// The number of operands.
    pub const fn arity(self) -> usize {
        use Primitive::*;
        match self {
            Select => 3,
            Add | Sub | Mul | Div | FloorDiv | Remainder | Fmod | Pow | Atan2 | Hypot | Igamma
            | Igammac | Copysign | Nextafter | Max | Min | Fmax | Fmin | And | Or | Xor | Shl
            | Shr | Gcd | Eq | Ne | Lt | Le | Gt | Ge => 2,
            _ => 1,
        }
    }

    /// The type of the result for operands of these types; `None` if there is no such function.
    pub fn result_type(self, operands: &[ComputeType]) -> Option<ComputeType> {
        use Primitive::*;
        if operands.len() != self.arity() {
            return None;
        }
        let first = operands[0];
        if self == Select {
            return (first == ComputeType::Bool && operands[1] == operands[2])
                .then_some(operands[1]);
        }
        if operands.iter().any(|&operand| operand != first) {
            return None;
        }
        let (is_float, is_bool) = (first.is_float(), first == ComputeType::Bool);
        match self {
            Convert(target) => Some(target),
            Eq | Ne | Lt | Le | Gt | Ge => Some(ComputeType::Bool),
            Not | And | Or | Xor => (!is_float).then_some(first),
            Shl | Shr | Gcd => (!is_float && !is_bool).then_some(first),
            Neg | Abs | Add | Sub | Mul | Div | FloorDiv | Remainder | Fmod | Pow | Max | Min => {
                (!is_bool).then_some(first)
            }
            _ => is_float.then_some(first),
        }
    }
}
