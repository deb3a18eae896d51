//! Sine, cosine and tangent.
//!
//! Moderate arguments are reduced by multiples of π/2 in parts, after Cody and Waite ("Software
//! Manual for the Elementary Functions", 1980). Larger ones go to `libm`, which has the bits of 2/π
//! that they need (Payne and Hanek, "Radian reduction for trigonometric functions", 1983).

use std::f64::consts::FRAC_2_PI;

use super::double_word::DoubleWord;
use super::exponent::nearest_f64;
use super::multiply_add::mul_add_f64;
use super::polynomial::polynomial_f64;
use crate::instruction_set::Isa;

/// Up to this the number of quarter turns has 20 bits, and its products with the parts of π/2 are
/// exact.
const MODERATE: f64 = 1_600_000.0;

/// π/2 in parts of 33 bits each, and the rest.
const HALF_PI: [f64; 4] =
    [1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32];
/// π/2 without the first part.
const HALF_PI_REST: f64 = 6.077100506506192e-11;

/// Whether an argument is reduced without `libm`.
#[inline(always)]
pub(crate) fn is_moderate_f32(x: f32) -> bool {
    x.abs() < MODERATE as f32
}

/// Whether an argument is reduced without `libm`.
#[inline(always)]
pub(crate) fn is_moderate_f64(x: f64) -> bool {
    x.abs() < MODERATE
}

/// sin(r) = r + r³ p(r²). `coefficients/fit.py`: error 2^-37.5.
const SIN_SHORT: [f64; 4] =
    [-0.1666666664069303, 0.008333329292715944, -0.00019839308350134738, 2.7180841018096205e-6];
/// cos(r) = 1 - r² / 2 + r⁴ p(r²). `coefficients/fit.py`: error 2^-42.9.
const COS_SHORT: [f64; 4] =
    [0.04166666661930022, -0.0013888883483741637, 2.47994558685292e-5, -2.7205401350015247e-7];

/// The quarter turns in an argument, and sine and cosine of what is left.
#[inline(always)]
fn turned_f32<I: Isa>(x: f32) -> (i64, f64, f64) {
    let x = f64::from(x);
    let (whole, n) = nearest_f64(x * FRAC_2_PI);
    let r = mul_add_f64::<I>(-whole, HALF_PI[0], x);
    let r = mul_add_f64::<I>(-whole, HALF_PI_REST, r);
    let z = r * r;
    // A product keeps the sign of -0, which a sum would lose.
    let sin = r * (1.0 + z * polynomial_f64::<I, _>(z, SIN_SHORT));
    let cos = (1.0 - 0.5 * z) + z * z * polynomial_f64::<I, _>(z, COS_SHORT);
    (n, sin, cos)
}

/// The sine after n quarter turns more.
#[inline(always)]
fn after_turns(n: i64, sin: f64, cos: f64) -> f64 {
    let size = if n & 1 == 0 { sin } else { cos };
    // The second bit becomes the sign.
    f64::from_bits(size.to_bits() ^ ((n as u64 & 2) << 62))
}

/// The quotient of the sine and the cosine after n quarter turns more.
#[inline(always)]
fn tan_after_turns(n: i64, sin: f64, cos: f64) -> f64 {
    let is_even = n & 1 == 0;
    (if is_even { sin } else { -cos }) / (if is_even { cos } else { sin })
}

/// Sine, of moderate arguments.
#[inline(always)]
pub(crate) fn sin_f32<I: Isa>(x: f32) -> f32 {
    let (n, sin, cos) = turned_f32::<I>(x);
    after_turns(n, sin, cos) as f32
}

/// Cosine, of moderate arguments.
#[inline(always)]
pub(crate) fn cos_f32<I: Isa>(x: f32) -> f32 {
    let (n, sin, cos) = turned_f32::<I>(x);
    after_turns(n.wrapping_add(1), sin, cos) as f32
}

/// Tangent, of moderate arguments.
#[inline(always)]
pub(crate) fn tan_f32<I: Isa>(x: f32) -> f32 {
    let (n, sin, cos) = turned_f32::<I>(x);
    tan_after_turns(n, sin, cos) as f32
}

/// sin(r) = r + r³ p(r²). `coefficients/fit.py`: error 2^-57.9.
const SIN_F64: [f64; 6] = [
    -0.1666666666666663,
    0.00833333333332184,
    -0.00019841269829358512,
    2.7557313538503625e-6,
    -2.5050734386966008e-8,
    1.589543312654606e-10,
];
/// cos(r) = 1 - r² / 2 + r⁴ p(r²). `coefficients/fit.py`: error 2^-63.9.
const COS_F64: [f64; 6] = [
    0.041666666666666595,
    -0.0013888888888873325,
    2.480158728898368e-5,
    -2.755731421007401e-7,
    2.087570427079895e-9,
    -1.1358683319654945e-11,
];

/// The quarter turns in an argument, and sine and cosine of what is left.
#[inline(always)]
fn turned_f64<I: Isa>(x: f64) -> (i64, f64, f64) {
    let (whole, n) = nearest_f64(x * FRAC_2_PI);
    // The rest and its own rounding error: near multiples of π/2 many bits cancel out.
    let first = x - whole * HALF_PI[0];
    let second = DoubleWord::sum(first, -(whole * HALF_PI[1]));
    let third = DoubleWord::sum(second.high, -(whole * HALF_PI[2]));
    let r = third.high;
    let tail = (second.low + third.low) - whole * HALF_PI[3];
    // sin(r + tail) is sin(r) + tail cos(r), and cos(r + tail) is cos(r) - tail r, near enough.
    let z = r * r;
    let half = 0.5 * z;
    let cubic = z * r * polynomial_f64::<I, _>(z, SIN_F64);
    let sin = r + (cubic + (tail - half * tail));
    let largest = 1.0 - half;
    let cos = largest
        + (((1.0 - largest) - half) + (z * z * polynomial_f64::<I, _>(z, COS_F64) - r * tail));
    // -0 would become 0.
    (n, if x.abs() < 1e-9 { x } else { sin }, cos)
}

/// Sine, of moderate arguments.
#[inline(always)]
pub(crate) fn sin_f64<I: Isa>(x: f64) -> f64 {
    let (n, sin, cos) = turned_f64::<I>(x);
    after_turns(n, sin, cos)
}

/// Cosine, of moderate arguments.
#[inline(always)]
pub(crate) fn cos_f64<I: Isa>(x: f64) -> f64 {
    let (n, sin, cos) = turned_f64::<I>(x);
    after_turns(n.wrapping_add(1), sin, cos)
}

/// Tangent, of moderate arguments.
#[inline(always)]
pub(crate) fn tan_f64<I: Isa>(x: f64) -> f64 {
    let (n, sin, cos) = turned_f64::<I>(x);
    tan_after_turns(n, sin, cos)
}
