//! Hyperbolic functions.

use super::exp::{exp_f32, exp_f64};
use super::polynomial::{polynomial_f32, polynomial_f64};

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
pub(crate) fn tanh_f32(x: f32) -> f32 {
    let size = x.abs();
    let square = x * x;
    let small = size + size * (square * polynomial_f32(square, TANH_F32));
    let large = 1.0 - 2.0 / (exp_f32(size + size) + 1.0);
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
pub(crate) fn tanh_f64(x: f64) -> f64 {
    let size = x.abs();
    let square = x * x;
    let small = size + size * (square * polynomial_f64(square, TANH_F64));
    let large = 1.0 - 2.0 / (exp_f64(size + size) + 1.0);
    (if size > 1.0 { large } else { small }).copysign(x)
}
