//! The error function and its relatives.

use super::double_word::DoubleWord;
use super::exp::exp_parts;
use super::exponent::scale_f64;
use super::multiply_add::{mul_add_f32, mul_add_f64};
use super::polynomial::{polynomial_f32, polynomial_f64};
use super::short::exp2_short;
use crate::instruction_set::Isa;

/// erf(x) = x + x p(x²) up to 1.1. `coefficients/fit.py`: error 2^-27.6.
const ERF_F32: [f32; 7] = [
    1.283_791_7e-1,
    -3.761_261e-1,
    1.128_336_4e-1,
    -2.684_351_8e-2,
    5.167_731e-3,
    -7.824_739_4e-4,
    7.236_069e-5,
];

/// erfc(x) = p(x)^8 from 1.1 to 4. `coefficients/fit.py`: error in erf 2^-28.6.
const ERFC_ROOT_F32: [f32; 8] = [
    1.000_540_1,
    -1.436_393_3e-1,
    -6.429_051_6e-2,
    -8.248_455e-3,
    1.093_224_5e-2,
    -1.726_268_1e-3,
    -1.972_271_4e-7,
    1.264_122_9e-5,
];

/// The error function: a series, and a power of a polynomial in the tails, after the approximation
/// 7.1.28 of Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), but without its
/// division.
#[inline(always)]
pub(crate) fn erf_f32<I: Isa>(x: f32) -> f32 {
    let size = x.abs();
    let square = x * x;
    let small = mul_add_f32::<I>(x, polynomial_f32::<I, _>(square, ERF_F32), x);
    // From 4 on, erf is 1 to 25 bits.
    let bounded = if size > 4.0 { 4.0 } else { size };
    let root = polynomial_f32::<I, _>(bounded, ERFC_ROOT_F32);
    let fourth = (root * root) * (root * root);
    let large = mul_add_f32::<I>(-fourth, fourth, 1.0).copysign(x);
    // NaN takes the series.
    if size > 1.1 { large } else { small }
}

/// [`Value::gelu`](expression::Value::gelu), with the rounding errors of its steps.
#[inline(always)]
pub(crate) fn gelu_f32<I: Isa>(x: f32) -> f32 {
    x * 0.5 * (1.0 + erf_f32::<I>(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// [`Value::gelu`](expression::Value::gelu), with the rounding errors of its steps.
#[inline(always)]
pub(crate) fn gelu_f64<I: Isa>(x: f64) -> f64 {
    x * 0.5 * (1.0 + erf_f64::<I>(x * std::f64::consts::FRAC_1_SQRT_2))
}

/// erfc(x) = exp(-x²) p((x - 4) / (x + 4)) up to 10. `coefficients/fit.py`: error 2^-32.8.
const ERFC_SHORT: [f64; 13] = [
    0.13699945760978696,
    -0.25906804894592333,
    0.2187196824318352,
    -0.16425780556802028,
    0.10896305868276314,
    -0.06310806690017791,
    0.031300402372841804,
    -0.012841047721691333,
    0.004054663600065519,
    -0.0008149932109424419,
    -1.9525528050368805e-5,
    0.000110588095098699,
    2.886443919142442e-6,
];

/// `1 - erf(x)`
#[inline(always)]
pub(crate) fn erfc_f32<I: Isa>(x: f32) -> f32 {
    let size = f64::from(x.abs());
    let size = if size > 11.0 { 11.0 } else { size };
    let exponential = exp2_short::<I>(size * size * -std::f64::consts::LOG2_E);
    let erfc = exponential * polynomial_f64::<I, _>((size - 4.0) / (size + 4.0), ERFC_SHORT);
    (if x < 0.0 { 2.0 - erfc } else { erfc }) as f32
}

/// erf(x) = x + x p(x²) up to 1. `coefficients/fit.py`: error 2^-56.3.
const ERF_F64: [f64; 13] = [
    0.1283791670955126,
    -0.376126389031841,
    0.112837916709711,
    -0.026866170648031713,
    0.005223977652701187,
    -0.0008548328536466196,
    0.00012055386223722972,
    -1.4926882331201729e-5,
    1.6481074904259259e-6,
    -1.6557321265886174e-7,
    1.6014658945836867e-8,
    -1.6470800018703326e-9,
    1.435466736433296e-10,
];
/// erfc(x) = exp(-x²) p((x - 4) / (x + 4)) / (1 + 2 x) from 1/2 on. `coefficients/fit.py`: error
/// 2^-54.3.
const ERFC_F64: [f64; 23] = [
    1.2329951186255526,
    -0.1396211168405625,
    0.01537965210261984,
    0.06809705425468883,
    -0.10103906603630995,
    0.09373283499851835,
    -0.0663303658120923,
    0.03716751553409536,
    -0.01619773405924315,
    0.005031970015466104,
    -0.0007577732789404119,
    -0.0001992569464049291,
    0.00015062163765801114,
    -2.4398131190766278e-5,
    -1.122194661145917e-5,
    5.706674237570044e-6,
    2.9373719680770047e-7,
    -8.197753448124842e-7,
    7.45856875215731e-8,
    1.034781196180489e-7,
    -1.7780719592137846e-8,
    -9.730802935671925e-9,
    1.7652167614496314e-9,
];

/// erf(x) for x from -1 to 1.
#[inline(always)]
fn small_erf<I: Isa>(x: f64) -> f64 {
    mul_add_f64::<I>(x, polynomial_f64::<I, _>(x * x, ERF_F64), x)
}

/// erfc(x) for x from 1/2 on.
#[inline(always)]
fn large_erfc<I: Isa>(x: f64) -> f64 {
    let x = if x > 28.0 { 28.0 } else { x };
    // The exponent is large, so the square's rounding error matters.
    let square = DoubleWord::product::<I>(x, x);
    let parts = exp_parts::<I>(DoubleWord::new(-square.high, -square.low));
    let factor = polynomial_f64::<I, _>((x - 4.0) / (x + 4.0), ERFC_F64);
    scale_f64(parts.mantissa().rounded() * factor / (1.0 + 2.0 * x), parts.n)
}

/// The error function.
#[inline(always)]
pub(crate) fn erf_f64<I: Isa>(x: f64) -> f64 {
    let size = x.abs();
    (if size > 1.0 { 1.0 - large_erfc::<I>(size) } else { small_erf::<I>(size) }).copysign(x)
}

/// `1 - erf(x)`
#[inline(always)]
pub(crate) fn erfc_f64<I: Isa>(x: f64) -> f64 {
    let large = large_erfc::<I>(x.abs());
    let large = if x < 0.0 { 2.0 - large } else { large };
    if x.abs() > 0.5 { large } else { 1.0 - small_erf::<I>(x) }
}
