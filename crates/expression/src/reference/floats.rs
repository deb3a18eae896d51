//! Primitives of floats.

use super::special;
use crate::Primitive;
use crate::incomplete_gamma::{igamma, igammac};

/// A function of one double, other than a conversion.
pub(super) fn unary(primitive: Primitive, a: f64) -> f64 {
    use Primitive::*;
    match primitive {
        Neg => -a,
        Abs => a.abs(),
        Sqrt => a.sqrt(),
        Rsqrt => 1.0 / a.sqrt(),
        Floor => a.floor(),
        Ceil => a.ceil(),
        Round => a.round_ties_even(),
        Trunc => a.trunc(),
        Exp => a.exp(),
        Exp2 => a.exp2(),
        Expm1 => a.exp_m1(),
        Log => a.ln(),
        Log2 => a.log2(),
        Log10 => a.log10(),
        Log1p => a.ln_1p(),
        Sin => a.sin(),
        Cos => a.cos(),
        Tan => a.tan(),
        Asin => a.asin(),
        Acos => a.acos(),
        Atan => a.atan(),
        Sinh => a.sinh(),
        Cosh => a.cosh(),
        Tanh => a.tanh(),
        Asinh => libm::asinh(a),
        Acosh => libm::acosh(a),
        Atanh => libm::atanh(a),
        Sigmoid => 1.0 / (1.0 + (-a).exp()),
        Erf => libm::erf(a),
        Erfc => libm::erfc(a),
        Erfinv => special::erfinv(a),
        Lgamma => special::lgamma(a),
        Digamma => special::digamma(a),
        _ => unreachable!("{primitive:?} of a float"),
    }
}

/// A function of two doubles, other than a comparison.
pub(super) fn binary(primitive: Primitive, a: f64, b: f64) -> f64 {
    use Primitive::*;
    match primitive {
        Add => a + b,
        Sub => a - b,
        Mul => a * b,
        Div => a / b,
        FloorDiv => floor_divide(a, b),
        Remainder => remainder(a, b),
        Fmod => a % b,
        Pow => libm::pow(a, b),
        Atan2 => a.atan2(b),
        Hypot => libm::hypot(a, b),
        Igamma => igamma(a, b),
        Igammac => igammac(a, b),
        Copysign => a.copysign(b),
        Nextafter => libm::nextafter(a, b),
        Max if a.is_nan() || b.is_nan() => f64::NAN,
        Min if a.is_nan() || b.is_nan() => f64::NAN,
        Fmax if a.is_nan() => b,
        Fmin if a.is_nan() => b,
        Max | Fmax => {
            if a < b {
                b
            } else {
                a
            }
        }
        Min | Fmin => {
            if a > b {
                b
            } else {
                a
            }
        }
        _ => unreachable!("{primitive:?} of floats"),
    }
}

/// A function of two singles. One rounding of a double's sum, difference, product or quotient is
/// the single's (a double has more than twice the digits of a single, and two); not so for what is
/// computed in several steps.
pub(super) fn binary_f32(primitive: Primitive, a: f32, b: f32) -> f32 {
    match primitive {
        Primitive::FloorDiv => floor_divide_f32(a, b),
        Primitive::Remainder => remainder_f32(a, b),
        Primitive::Nextafter => libm::nextafterf(a, b),
        _ => binary(primitive, f64::from(a), f64::from(b)) as f32,
    }
}

macro_rules! divisions {
    ($float:ty, $floor_divide:ident, $remainder:ident) => {
        /// Python's `//`, step by step in one precision: the quotient of the multiple below `a`,
        /// which differs from the quotient rounded down where that rounds up to a whole number.
        fn $floor_divide(a: $float, b: $float) -> $float {
            if b == 0.0 {
                return a / b;
            }
            let cut = a % b;
            let mut quotient = (a - cut) / b;
            if cut != 0.0 && (b < 0.0) != (cut < 0.0) {
                quotient -= 1.0;
            }
            if quotient == 0.0 {
                return <$float>::copysign(0.0, a / b);
            }
            let floor = quotient.floor();
            if quotient - floor > 0.5 { floor + 1.0 } else { floor }
        }

        /// Python's `%`.
        fn $remainder(a: $float, b: $float) -> $float {
            let cut = a % b;
            if cut != 0.0 && (cut < 0.0) != (b < 0.0) { cut + b } else { cut }
        }
    };
}

divisions!(f64, floor_divide, remainder);
divisions!(f32, floor_divide_f32, remainder_f32);
