//! Hyperbolic functions.

use super::double_word::DoubleWord;
use super::exp::{exp_f32, exp_f64, exp_parts};
use super::exponent::power_of_two_f64;
use super::log::{limits_f64, log_of_double_word};
use super::multiply_add::{mul_add_f32, mul_add_f64};
use super::polynomial::{polynomial_f32, polynomial_f64};
use super::short::{exp2_short, expm1_short, log2_short};
use crate::instruction_set::Isa;

/// tanh(x) = x + x³ p(x²) up to 1. `coefficients/fit.py`: error 2^-27.6.
const TANH_F32: [f32; 7] = [
    -3.333_329_6e-1,
    1.333_234_6e-1,
    -5.387_984_6e-2,
    2.148_669e-2,
    -7.946_080_5e-3,
    2.301_328_6e-3,
    -3.584_451e-4,
];

/// Hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh_f32<I: Isa>(x: f32) -> f32 {
    let size = x.abs();
    let square = x * x;
    let tail = square * polynomial_f32::<I, _>(square, TANH_F32);
    let small = mul_add_f32::<I>(size, tail, size);
    let large = 1.0 - 2.0 / (exp_f32::<I>(size + size) + 1.0);
    // NaN takes the series.
    (if size > 1.0 { large } else { small }).copysign(x)
}

/// tanh(x) = x + x³ p(x²) up to 1. `coefficients/fit.py`: error 2^-59.8.
const TANH_F64: [f64; 16] = [
    -0.333333333333333,
    0.13333333333329114,
    -0.05396825396648867,
    0.021869488498678653,
    -0.008863235053991291,
    0.0035921240725797715,
    -0.0014558114485697213,
    0.000589931663936662,
    -0.00023883317330812673,
    9.622740636027311e-5,
    -3.806293893428441e-5,
    1.4278759446461082e-5,
    -4.75720367624816e-6,
    1.2709701304423865e-6,
    -2.329263758784341e-7,
    2.1296018682016222e-8,
];

/// Hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh_f64<I: Isa>(x: f64) -> f64 {
    let size = x.abs();
    let square = x * x;
    let tail = square * polynomial_f64::<I, _>(square, TANH_F64);
    let small = mul_add_f64::<I>(size, tail, size);
    let large = 1.0 - 2.0 / (exp_f64::<I>(size + size) + 1.0);
    (if size > 1.0 { large } else { small }).copysign(x)
}

/// Hyperbolic sine.
#[inline(always)]
pub(crate) fn sinh_f32<I: Isa>(x: f32) -> f32 {
    // With t = e^|x| - 1, which is exact near 0: (t + t / (t + 1)) / 2.
    let t = expm1_short::<I>(f64::from(x.abs()));
    (0.5 * (t + t / (t + 1.0))).copysign(x.into()) as f32
}

/// Hyperbolic cosine.
#[inline(always)]
pub(crate) fn cosh_f32<I: Isa>(x: f32) -> f32 {
    let e = exp2_short::<I>(f64::from(x.abs()) * std::f64::consts::LOG2_E);
    (0.5 * (e + 1.0 / e)) as f32
}

/// Beyond this, sinh and cosh are infinite.
const LARGEST: f64 = 710.6;

/// Hyperbolic sine.
#[inline(always)]
pub(crate) fn sinh_f64<I: Isa>(x: f64) -> f64 {
    let size = x.abs();
    let size = if size > LARGEST { LARGEST } else { size };
    // A quarter of t as above, which is finite where the largest results are.
    let t = exp_parts::<I>(DoubleWord::new(size, 0.0)).minus_one(2);
    let half = t.high + (t.low + t.high / (4.0 * t.high + 1.0));
    (if size < 1e-8 { size } else { half + half }).copysign(x)
}

/// Hyperbolic cosine.
#[inline(always)]
pub(crate) fn cosh_f64<I: Isa>(x: f64) -> f64 {
    let size = x.abs();
    let size = if size > LARGEST { LARGEST } else { size };
    let parts = exp_parts::<I>(DoubleWord::new(size, 0.0));
    let e = parts.mantissa().scaled(power_of_two_f64(parts.n.wrapping_sub(2)));
    let half = e.high + (e.low + 0.0625 / e.high);
    half + half
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub(crate) fn asinh_f32<I: Isa>(x: f32) -> f32 {
    let size = f64::from(x.abs());
    let square = size * size;
    let large = log2_short::<I>(size + (square + 1.0).sqrt()) * std::f64::consts::LN_2;
    // Near 0 the logarithm is small beside the rounding error of what it is taken of.
    let small = size - size * square * (1.0 / 6.0);
    (if size < 1e-3 { small } else { large }).copysign(x.into()) as f32
}

/// Inverse hyperbolic cosine.
#[inline(always)]
pub(crate) fn acosh_f32<I: Isa>(x: f32) -> f32 {
    let x = f64::from(x);
    let log = log2_short::<I>(x + (x * x - 1.0).sqrt()) * std::f64::consts::LN_2;
    (if x < 1.0 { f64::NAN } else { log }) as f32
}

/// Inverse hyperbolic tangent.
#[inline(always)]
pub(crate) fn atanh_f32<I: Isa>(x: f32) -> f32 {
    let x = f64::from(x);
    let large = log2_short::<I>((1.0 + x) / (1.0 - x)) * (0.5 * std::f64::consts::LN_2);
    let small = x + x * x * x * (1.0 / 3.0);
    (if x.abs() < 1e-3 { small } else { large }) as f32
}

/// A number from which on nothing can be added to the square.
const LARGE: f64 = 1e100;

/// log(x + √(x² + one)), where x is positive and `one` is 1 or -1.
#[inline(always)]
fn log_of_sum<I: Isa>(x: f64, one: f64) -> f64 {
    let bounded = if x > LARGE { LARGE } else { x };
    let square = DoubleWord::product::<I>(bounded, bounded).plus(one);
    // The root of 0, which acosh(1) has, is 0.
    let root = square.sqrt::<I>();
    let root = if square.high == 0.0 { DoubleWord::new(0.0, 0.0) } else { root };
    let sum = root.plus(bounded);
    let sum = if x > LARGE { DoubleWord::new(x, 0.0) } else { sum };
    // There it is log(2 x), and 2 x may be infinite.
    let more = if x > LARGE { std::f64::consts::LN_2 } else { 0.0 };
    let log = log_of_double_word::<I>(sum);
    limits_f64(x, log.high + (log.low + more))
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub(crate) fn asinh_f64<I: Isa>(x: f64) -> f64 {
    let size = x.abs();
    let small = size - size * (size * size) * (1.0 / 6.0);
    (if size < 1e-6 { small } else { log_of_sum::<I>(size, 1.0) }).copysign(x)
}

/// Inverse hyperbolic cosine.
#[inline(always)]
pub(crate) fn acosh_f64<I: Isa>(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { log_of_sum::<I>(x, -1.0) }
}

/// Inverse hyperbolic tangent.
#[inline(always)]
pub(crate) fn atanh_f64<I: Isa>(x: f64) -> f64 {
    let size = x.abs();
    let quotient = DoubleWord::sum(1.0, size).over::<I>(DoubleWord::sum(1.0, -size));
    let large = 0.5 * log_of_double_word::<I>(quotient).rounded();
    let large = if size == 1.0 { f64::INFINITY } else { large };
    let large = if size > 1.0 { f64::NAN } else { large };
    let small = size + size * (size * size) * (1.0 / 3.0);
    (if size < 1e-6 { small } else { large }).copysign(x)
}
