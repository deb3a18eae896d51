//! The logarithm of the gamma function, its derivative, and incomplete gamma functions: rare, and not
//! made vectors of. All sets call the same code.

use std::f64::consts::PI;

use super::log::log_f64;
use super::polynomial::polynomial_f64;
use crate::instruction_set::Baseline;

/// The logarithm of the absolute value of the gamma function.
#[inline(always)]
pub(crate) fn lgamma_f32(x: f32) -> f32 {
    libm::lgamma(x.into()) as f32
}

/// The logarithm of the absolute value of the gamma function.
#[inline(always)]
pub(crate) fn lgamma_f64(x: f64) -> f64 {
    libm::lgamma(x)
}

/// The regularized lower incomplete gamma function.
#[inline(always)]
pub(crate) fn igamma_f32(a: f32, x: f32) -> f32 {
    expression::igamma(a.into(), x.into()) as f32
}

/// The regularized lower incomplete gamma function.
#[inline(always)]
pub(crate) fn igamma_f64(a: f64, x: f64) -> f64 {
    expression::igamma(a, x)
}

/// The regularized upper incomplete gamma function: 1 less the lower one.
#[inline(always)]
pub(crate) fn igammac_f32(a: f32, x: f32) -> f32 {
    expression::igammac(a.into(), x.into()) as f32
}

/// The regularized upper incomplete gamma function: 1 less the lower one.
#[inline(always)]
pub(crate) fn igammac_f64(a: f64, x: f64) -> f64 {
    expression::igammac(a, x)
}

/// The positive root of digamma, in two parts.
const ROOT: (f64, f64) = (1.4616321449683622, 9.549995429965697e-17);
/// digamma(x) = (x - root) p(x - 1.5) from 1 to 2. `coefficients/fit.py`: error 2^-53.5.
const NEAR_ROOT: [f64; 22] = [
    0.951055876031833,
    -0.4236274212814606,
    0.24054248424077398,
    -0.14840492305389005,
    0.09498872445497268,
    -0.061922133274696665,
    0.04076083381080558,
    -0.02697579669122795,
    0.01790725248157267,
    -0.01190821941983958,
    0.007926944015659269,
    -0.005279946253240933,
    0.003519012149023724,
    -0.0023454207993039264,
    0.0015565993458144722,
    -0.0010368420846087738,
    0.0007234369762010112,
    -0.00048473039766701255,
    0.00022702516196003837,
    -0.00014697772519483944,
    0.0002598514206214714,
    -0.00017656285285822188,
];

/// B(2k) / (2k), where B are the numbers of Bernoulli.
const BERNOULLI: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 120.0,
    1.0 / 252.0,
    -1.0 / 240.0,
    1.0 / 132.0,
    -691.0 / 32760.0,
    1.0 / 12.0,
    -3617.0 / 8160.0,
];

/// The derivative of [`lgamma_f32`].
#[inline(always)]
pub(crate) fn digamma_f32(x: f32) -> f32 {
    digamma_f64(x.into()) as f32
}

/// The derivative of [`lgamma_f64`]. Infinite with the sign of -x at 0, as in PyTorch, and NaN at
/// the other poles.
#[inline(never)]
pub(crate) fn digamma_f64(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        let fraction = x - x.round();
        if fraction == 0.0 || x == f64::NEG_INFINITY {
            return f64::NAN;
        }
        // Reflection (DLMF 5.5.4).
        return positive_digamma(1.0 - x) - PI / libm::tan(PI * fraction);
    }
    positive_digamma(x)
}

fn positive_digamma(x: f64) -> f64 {
    // The asymptotic series (DLMF 5.11.2).
    if x >= 12.0 {
        let inverse = 1.0 / (x * x);
        return log_f64::<Baseline>(x)
            - (0.5 / x + inverse * polynomial_f64::<Baseline, _>(inverse, BERNOULLI));
    }
    // Recurrence (DLMF 5.5.2) down to [1, 2], where the root is, or up to it.
    let (mut x, mut sum) = (x, 0.0);
    while x > 2.0 {
        x -= 1.0;
        sum += 1.0 / x;
    }
    if x < 1.0 {
        sum = -1.0 / x;
        x += 1.0;
    }
    ((x - ROOT.0) - ROOT.1) * polynomial_f64::<Baseline, _>(x - 1.5, NEAR_ROOT) + sum
}
