//! Logarithms.

use super::exp::{LN_2_F32, LN_2_F64};
use super::exponent::{split_f32, split_f64};
use super::polynomial::{polynomial_f32, polynomial_f64};

/// log(1 + f) = f - f² / 2 + f³ p(f). `coefficients/fit.py`: error 2^-29.4.
const LOG_F32: [f32; 9] = [
    3.333_332_2e-1,
    -2.500_000_3e-1,
    2.000_156e-1,
    -1.666_798_3e-1,
    1.422_957_2e-1,
    -1.241_164e-1,
    1.182_657_26e-1,
    -1.161_786_3e-1,
    6.805_944_4e-2,
];

/// The natural logarithm.
#[inline(always)]
pub(crate) fn log_f32(x: f32) -> f32 {
    let (m, k) = split_f32(x);
    let f = m - 1.0;
    let square = f * f;
    let tail = (f * square * polynomial_f32(f, LOG_F32) + k * LN_2_F32.1) - 0.5 * square;
    // The sum of `k ln 2` and `f` exactly (Dekker): the first is larger, or 0.
    let large = k * LN_2_F32.0;
    let sum = large + f;
    let rest = f - (sum - large);
    limits_f32(x, sum + (rest + tail))
}

/// The logarithm (to any base) of what has none, or an infinite one; else `log`.
#[inline(always)]
fn limits_f32(x: f32, log: f32) -> f32 {
    // NaN is not less than infinity either.
    let log = if x < f32::INFINITY { log } else { x };
    let log = if x == 0.0 { f32::NEG_INFINITY } else { log };
    if x < 0.0 { f32::NAN } else { log }
}

/// With s = f / (2 + f): log(1 + f) = 2 s + s³ p(s²). `coefficients/fit.py`: error 2^-58.5.
const LOG_F64: [f64; 7] = [
    0.6666666666666734,
    0.3999999999941653,
    0.28571428742069443,
    0.22222198599502996,
    0.18183563197047123,
    0.15314074715428638,
    0.14795746178968888,
];

/// The natural logarithm. The order of operations is that of FDLIBM (Sun, 1993): `f` is added last,
/// and `f² / 2` taken out of the series, which leaves a smaller rounding error.
#[inline(always)]
pub(crate) fn log_f64(x: f64) -> f64 {
    let (m, k) = split_f64(x);
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let half_square = 0.5 * f * f;
    let series = s * (half_square + z * polynomial_f64(z, LOG_F64)) + k * LN_2_F64.1;
    limits_f64(x, k * LN_2_F64.0 - ((half_square - series) - f))
}

/// The logarithm (to any base) of what has none, or an infinite one; else `log`.
#[inline(always)]
fn limits_f64(x: f64, log: f64) -> f64 {
    let log = if x < f64::INFINITY { log } else { x };
    let log = if x == 0.0 { f64::NEG_INFINITY } else { log };
    if x < 0.0 { f64::NAN } else { log }
}
