//! Remainders and quotients of floats, as PyTorch defines them: exact, however large the quotient.

use super::double_word::DoubleWord;
use super::exponent::nearest_f64;
use super::multiply_add::mul_add_f64;
use super::rounding::{floor_f32, floor_f64};
use crate::instruction_set::Isa;

/// Whether the quotient has few bits; not if there is no remainder, or an infinite number.
#[inline(always)]
pub(crate) fn is_moderate_f32(a: f32, b: f32) -> bool {
    let (a, b) = (f64::from(a.abs()), f64::from(b.abs()));
    (a < b * (1_u32 << 28) as f64) & (b < f64::INFINITY)
}

/// Whether the quotient has few bits, and products with it are exact.
#[inline(always)]
pub(crate) fn is_moderate_f64(a: f64, b: f64) -> bool {
    let (a, b) = (a.abs(), b.abs());
    (a < b * (1_u64 << 50) as f64) & (b < 1e280) & (b > 1e-250) & (a < 1e280)
}

/// The remainder with the sign of `a`, of moderate operands.
#[inline(always)]
pub(crate) fn fmod_f32<I: Isa>(a: f32, b: f32) -> f32 {
    let (x, y) = (f64::from(a.abs()), f64::from(b.abs()));
    // The quotient has 28 bits, so its product with 24 bits is exact, and so is the difference.
    let rest = mul_add_f64::<I>(-nearest_f64(x / y).0, y, x);
    (if rest < 0.0 { rest + y } else { rest }).copysign(a.into()) as f32
}

/// The remainder with the sign of `a`, of moderate operands.
#[inline(always)]
pub(crate) fn fmod_f64<I: Isa>(a: f64, b: f64) -> f64 {
    let (x, y) = (a.abs(), b.abs());
    let product = DoubleWord::product::<I>(nearest_f64(x / y).0, y);
    // Exact: the rest has no bit below the last one of x and y, and none above y.
    let rest = (x - product.high) - product.low;
    (if rest < 0.0 { rest + y } else { rest }).copysign(a)
}

macro_rules! division {
    ($float:ident, $floor:ident, $remainder:ident, $quotient:ident) => {
        /// The remainder with the sign of `b`, where `rest` is the one with the sign of `a`.
        #[inline(always)]
        pub(crate) fn $remainder(rest: $float, b: $float) -> $float {
            let differs = (rest != 0.0) & ((b < 0.0) != (rest < 0.0));
            if differs { rest + b } else { rest }
        }

        /// `a / b` rounded down, where `rest` is the remainder with the sign of `a`: as Python's
        /// `divmod`, from the dividend without it, so that it agrees with the remainder.
        #[inline(always)]
        pub(crate) fn $quotient(a: $float, b: $float, rest: $float) -> $float {
            let differs = (rest != 0.0) & ((b < 0.0) != (rest < 0.0));
            let whole = (a - rest) / b;
            let whole = if differs { whole - 1.0 } else { whole };
            // It is whole but for rounding errors of the difference and the division.
            let below = $floor(whole);
            let nearest = if whole - below > 0.5 { below + 1.0 } else { below };
            let zero = (0.0 as $float).copysign(a / b);
            let quotient = if whole == 0.0 { zero } else { nearest };
            if b == 0.0 { a / b } else { quotient }
        }
    };
}

division!(f32, floor_f32, remainder_f32, floor_divide_f32);
division!(f64, floor_f64, remainder_f64, floor_divide_f64);
