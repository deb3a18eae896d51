//! Arc sine, arc cosine and arc tangents.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use super::double_word::DoubleWord;
use super::polynomial::polynomial_f64;
use crate::instruction_set::Isa;

/// π/2 in two parts.
const HALF_PI: (f64, f64) = (FRAC_PI_2, 6.123233995736766e-17);
/// π/4, of which small multiples are exact, and the rest of it.
const QUARTER_PI: (f64, f64) = (FRAC_PI_4, 3.061616997868383e-17);

/// atan(t) = t + t³ p(t²) up to 1/2. `coefficients/fit.py`: error 2^-36.3.
const ATAN_SHORT: [f64; 7] = [
    -0.33333332937724947,
    0.19999958499022724,
    -0.14284235410196636,
    0.1108590729563072,
    -0.08857288213125118,
    0.06459979551248046,
    -0.029977443798794096,
];
/// atan(t) = t + t³ p(t²) up to 1/2. `coefficients/fit.py`: error 2^-60.3.
const ATAN_F64: [f64; 13] = [
    -0.33333333333333315,
    0.19999999999993823,
    -0.14285714285006562,
    0.11111111070532115,
    -0.09090907720919117,
    0.0769227794196769,
    -0.06666228796313224,
    0.058778477319960415,
    -0.05230228718307814,
    0.04590222960574792,
    -0.03713661628733443,
    0.023678918875115033,
    -0.008379748822364837,
];

/// The angle of the point (x, y), with a polynomial p such that atan(t) = t + t³ p(t²) up to 1/2.
#[inline(always)]
fn angle(y: f64, x: f64, p: impl Fn(f64) -> f64) -> f64 {
    let (height, width) = (y.abs(), x.abs());
    let is_steep = height > width;
    let (small, large) = if is_steep { (width, height) } else { (height, width) };
    // Sums of the largest numbers would be infinite; what becomes 0 here makes an angle of 0.
    let scale = if large > 1e300 { 1e-16 } else { 1.0 };
    let (small, large) = (small * scale, large * scale);
    // atan(t) = π/4 + atan((t - 1) / (t + 1)); the difference is exact.
    let is_wide = small > 0.5 * large;
    let above = if is_wide { small - large } else { small };
    let below = if is_wide { small + large } else { large };
    let t = above / if large == 0.0 { 1.0 } else { below };
    // Infinite numbers are like 1 beside 0, or beside 1.
    let t = if large == f64::INFINITY { 0.0 } else { t };
    let is_wide = is_wide | (small == f64::INFINITY);
    let angle = t + t * (t * t * p(t * t));
    // Mirrored at the diagonal and at the vertical axis: eighths of a turn, less the angle.
    let (eighths, angle) = (if is_wide { 1.0 } else { 0.0 }, angle);
    let (eighths, angle) = if is_steep { (2.0 - eighths, -angle) } else { (eighths, angle) };
    let is_behind = x.is_sign_negative();
    let (eighths, angle) = if is_behind { (4.0 - eighths, -angle) } else { (eighths, angle) };
    let angle = eighths * QUARTER_PI.0 + (eighths * QUARTER_PI.1 + angle);
    let angle = angle.copysign(y);
    if x.is_nan() | y.is_nan() { x + y } else { angle }
}

/// The angle of the point `(x, y)`.
#[inline(always)]
pub(crate) fn atan2_f32<I: Isa>(y: f32, x: f32) -> f32 {
    angle(y.into(), x.into(), |z| polynomial_f64::<I, _>(z, ATAN_SHORT)) as f32
}

/// The angle of the point `(x, y)`.
#[inline(always)]
pub(crate) fn atan2_f64<I: Isa>(y: f64, x: f64) -> f64 {
    angle(y, x, |z| polynomial_f64::<I, _>(z, ATAN_F64))
}

/// Arc tangent.
#[inline(always)]
pub(crate) fn atan_f32<I: Isa>(x: f32) -> f32 {
    atan2_f32::<I>(x, 1.0)
}

/// Arc tangent.
#[inline(always)]
pub(crate) fn atan_f64<I: Isa>(x: f64) -> f64 {
    atan2_f64::<I>(x, 1.0)
}

/// asin(x) = x + x³ p(x²) up to 1/2. `coefficients/fit.py`: error 2^-39.9.
const ASIN_SHORT: [f64; 8] = [
    0.16666666626726967,
    0.07500005041863689,
    0.04464068778342336,
    0.030426841345391753,
    0.021863014385832127,
    0.020659004032804833,
    0.00194855407187205,
    0.03294164109569114,
];
/// asin(x) = x + x³ p(x²) up to 1/2. `coefficients/fit.py`: error 2^-59.8.
const ASIN_F64: [f64; 13] = [
    0.16666666666666763,
    0.07499999999970128,
    0.044642857175256775,
    0.03038194267675216,
    0.022372215862565544,
    0.017351596310686418,
    0.013981008448422025,
    0.0113973784800321,
    0.01078882676055221,
    0.0036741089323478445,
    0.021785833767460357,
    -0.021109725790829124,
    0.03269767774817628,
];

/// The arc sine of a number up to 1/2 in size: of |x|, or of √((1 - |x|) / 2), with which
/// asin|x| = π/2 - 2 asin √((1 - |x|) / 2). The sum of the two.
#[inline(always)]
fn half_asin<I: Isa>(x: f64, p: impl Fn(f64) -> f64) -> (f64, f64) {
    let size = x.abs();
    let is_large = size > 0.5;
    let z = if is_large { 0.5 * (1.0 - size) } else { size * size };
    let root = z.sqrt();
    // What the root lacks.
    let square = DoubleWord::product::<I>(root, root);
    let error = ((z - square.high) - square.low) / (root + root);
    let error = if is_large & (root > 0.0) { error } else { 0.0 };
    let s = if is_large { root } else { size };
    (s, s * (z * p(z)) + error)
}

#[inline(always)]
fn asin<I: Isa>(x: f64, p: impl Fn(f64) -> f64) -> f64 {
    let (s, tail) = half_asin::<I>(x, p);
    let large = HALF_PI.0 - (2.0 * s - (HALF_PI.1 - 2.0 * tail));
    (if x.abs() > 0.5 { large } else { s + tail }).copysign(x)
}

#[inline(always)]
fn acos<I: Isa>(x: f64, p: impl Fn(f64) -> f64) -> f64 {
    let (s, tail) = half_asin::<I>(x, p);
    let near_one = 2.0 * (s + tail);
    let near_minus_one = 2.0 * (HALF_PI.0 - (s - (HALF_PI.1 - tail)));
    let (signed, signed_tail) = if x < 0.0 { (-s, -tail) } else { (s, tail) };
    let middle = HALF_PI.0 - (signed - (HALF_PI.1 - signed_tail));
    let outside = if x < 0.0 { near_minus_one } else { near_one };
    if x.abs() > 0.5 { outside } else { middle }
}

/// Arc sine.
#[inline(always)]
pub(crate) fn asin_f32<I: Isa>(x: f32) -> f32 {
    asin::<I>(x.into(), |z| polynomial_f64::<I, _>(z, ASIN_SHORT)) as f32
}

/// Arc sine.
#[inline(always)]
pub(crate) fn asin_f64<I: Isa>(x: f64) -> f64 {
    asin::<I>(x, |z| polynomial_f64::<I, _>(z, ASIN_F64))
}

/// Arc cosine.
#[inline(always)]
pub(crate) fn acos_f32<I: Isa>(x: f32) -> f32 {
    acos::<I>(x.into(), |z| polynomial_f64::<I, _>(z, ASIN_SHORT)) as f32
}

/// Arc cosine.
#[inline(always)]
pub(crate) fn acos_f64<I: Isa>(x: f64) -> f64 {
    acos::<I>(x, |z| polynomial_f64::<I, _>(z, ASIN_F64))
}
