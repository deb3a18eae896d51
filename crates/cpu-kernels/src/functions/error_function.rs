//! The error function and its relatives.

use super::exp::exp_f32;
use super::polynomial::polynomial_f32;

/// erf(x) = x + x p(x²) up to 1. `coefficients/fit.py`: error 2^-29.4.
const ERF_F32: [f32; 7] = [
    1.283_791_7e-1,
    -3.761_262_6e-1,
    1.128_357_9e-1,
    -2.685_334_7e-2,
    5.187_162e-3,
    -7.997_853e-4,
    7.806_904e-5,
];

/// erfc(x) = exp(x p(x)) from 1 to 4. `coefficients/fit.py`: error in erf 2^-32.5.
const ERFC_EXPONENT_F32: [f32; 8] = [
    -1.128_590_7,
    -6.354_495e-1,
    -1.055_955_9e-1,
    2.301_709_4e-2,
    -3.137_590_6e-3,
    1.232_122_6e-4,
    3.138_702_6e-5,
    -3.791_945e-6,
];

/// The error function.
#[inline(always)]
pub(crate) fn erf_f32(x: f32) -> f32 {
    let size = x.abs();
    let square = x * x;
    let small = size + size * polynomial_f32(square, ERF_F32);
    // From 4 on, erf is 1 to 25 bits.
    let bounded = if size > 4.0 { 4.0 } else { size };
    let large = 1.0 - exp_f32(bounded * polynomial_f32(bounded, ERFC_EXPONENT_F32));
    // NaN takes the series.
    (if size > 1.0 { large } else { small }).copysign(x)
}
