//! Functions of `f64` with polynomials of as many terms as an `f32` needs, to about 2^-32 of the
//! result. Functions of `f32` which would need more than 24 bits in between are computed with them.

use super::exponent::{nearest_f64, power_of_two_f64, split_f64};
use super::log::limits_f64;
use super::multiply_add::mul_add_f64;
use super::polynomial::polynomial_f64;
use crate::instruction_set::Isa;

/// 2^r = 1 + r p(r). `coefficients/fit.py`: error 2^-32.
const EXP2_SHORT: [f64; 7] = [
    0.6931471805817446,
    0.24022650921393132,
    0.055504107267735095,
    0.009618056749565685,
    0.001333366988082855,
    0.000154614451583992,
    1.525272428612837e-5,
];

/// `2^x` as `h + h t`, where h is a power of two. Results beyond an `f32` may be other ones that are.
#[inline(always)]
pub(super) fn exp2_parts<I: Isa>(x: f64) -> (f64, f64) {
    let x = if x > 300.0 { 300.0 } else { x };
    let x = if x < -300.0 { -300.0 } else { x };
    let (whole, n) = nearest_f64(x);
    let r = x - whole;
    (power_of_two_f64(n), r * polynomial_f64::<I, _>(r, EXP2_SHORT))
}

/// 2 to the power of `x`.
#[inline(always)]
pub(super) fn exp2_short<I: Isa>(x: f64) -> f64 {
    let (h, t) = exp2_parts::<I>(x);
    mul_add_f64::<I>(h, t, h)
}

/// `exp(x) - 1`, with the sign of x also where x is 0.
#[inline(always)]
pub(super) fn expm1_short<I: Isa>(x: f64) -> f64 {
    let (h, t) = exp2_parts::<I>(x * std::f64::consts::LOG2_E);
    mul_add_f64::<I>(h, t, h - 1.0).copysign(x)
}

/// With s = f / (2 + f): log2(1 + f) = s p(s²). `coefficients/fit.py`: error 2^-36.3.
const LOG2_SHORT: [f64; 5] = [
    2.885390081790147,
    0.9617966732756785,
    0.5770835961837009,
    0.4116721096278556,
    0.3407404519029721,
];

/// The logarithm to base 2.
#[inline(always)]
pub(super) fn log2_short<I: Isa>(x: f64) -> f64 {
    let (m, k) = split_f64(x);
    let s = (m - 1.0) / (m + 1.0);
    limits_f64(x, mul_add_f64::<I>(s, polynomial_f64::<I, _>(s * s, LOG2_SHORT), k))
}
