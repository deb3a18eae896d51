//! Transcendental functions: computed with 64 bits, so that the 32-bit result is as good as exact.
//!
//! They are made of additions and multiplications without branches, so that the functions over the
//! lanes of a warp become vector code; one lane alone gets the same bits.

use std::f64::consts::{FRAC_2_PI, LN_2, LOG2_E, SQRT_2};

pub(crate) extern "C" fn sine(x: f32) -> f32 {
    if is_small(x) { small_sine(x) } else { f64::from(x).sin() as f32 }
}

pub(crate) extern "C" fn cosine(x: f32) -> f32 {
    if is_small(x) { small_cosine(x) } else { f64::from(x).cos() as f32 }
}

pub(crate) extern "C" fn log2(x: f32) -> f32 {
    binary_logarithm(x)
}

pub(crate) extern "C" fn exp2(x: f32) -> f32 {
    power_of_two(x)
}

pub(crate) extern "C" fn tanh(x: f32) -> f32 {
    hyperbolic_tangent(x)
}

/// 1.5 * 2^52: a number that is added to it is rounded to a whole one, which then stands in the low
/// bits.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// 1 / k!
const INVERSE_FACTORIALS: [f64; 20] = {
    let (mut all, mut factorial, mut k) = ([1.0; 20], 1.0, 1);
    while k < 20 {
        factorial *= k as f64;
        all[k] = 1.0 / factorial;
        k += 1;
    }
    all
};

/// 2^n, for n in the low bits.
#[inline(always)]
fn scale(n: u64) -> f64 {
    f64::from_bits(n.wrapping_add(1023) << 52)
}

/// (e^r - 1) / r, for |r| at most ln 2 / 2: Taylor's series, of which what is left out is below
/// 2^-56.
#[inline(always)]
fn exponential(r: f64) -> f64 {
    let mut sum = INVERSE_FACTORIALS[14];
    for k in (1..14).rev() {
        sum = sum * r + INVERSE_FACTORIALS[k];
    }
    sum
}

#[inline(always)]
pub(super) fn power_of_two(x: f32) -> f32 {
    // Beyond, everything is infinite or 0 with 32 bits. NaN stays.
    let x = f64::from(x);
    let x = if x > 300.0 { 300.0 } else { x };
    let x = if x < -300.0 { -300.0 } else { x };
    let shifted = x + SHIFT;
    let r = (x - (shifted - SHIFT)) * LN_2;
    ((1.0 + r * exponential(r)) * scale(shifted.to_bits())) as f32
}

/// By way of e^2x - 1, which loses nothing where x is small.
#[inline(always)]
pub(super) fn hyperbolic_tangent(x: f32) -> f32 {
    // ln 2 in two parts, the first with so few bits that its multiples are exact.
    const HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
    const LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
    let y = 2.0 * f64::from(x.abs());
    // Beyond, it is 1 with 32 bits.
    let y = if y > 40.0 { 40.0 } else { y };
    let shifted = y * LOG2_E + SHIFT;
    let n = shifted - SHIFT;
    let r = (y - n * HIGH) - n * LOW;
    let power = scale(shifted.to_bits());
    let less_one = power * (r * exponential(r)) + (power - 1.0);
    ((less_one / (less_one + 2.0)) as f32).copysign(x)
}

/// The exponent, and the logarithm of what is left between the roots of 1/2 and 2 by the series of
/// the area tangent.
#[inline(always)]
pub(super) fn binary_logarithm(x: f32) -> f32 {
    let bits = f64::from(x).to_bits();
    let fraction = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    let large = fraction > SQRT_2;
    let m = if large { 0.5 * fraction } else { fraction };
    // As a floating-point number: the exponent in the low bits of a large one.
    let exponent = f64::from_bits((bits >> 52 & 0x7ff) | SHIFT.to_bits()) - SHIFT;
    let exponent = exponent - if large { 1022.0 } else { 1023.0 };
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut sum = 1.0 / 23.0;
    for k in (0..11).rev() {
        sum = sum * square + 1.0 / f64::from(2 * k + 1);
    }
    let logarithm = (exponent + 2.0 * LOG2_E * (s * sum)) as f32;
    let special = if x == 0.0 { f32::NEG_INFINITY } else { f32::NAN };
    let logarithm = if x > 0.0 { logarithm } else { special };
    if x == f32::INFINITY { x } else { logarithm }
}

/// Whether the parts of pi/2 below are enough to reduce an angle.
#[inline(always)]
pub(super) fn is_small(x: f32) -> bool {
    x.abs() < 524_288.0
}

/// An angle less a whole number of quarter turns, and that number in the low bits. The first two
/// parts of pi/2 have so few bits that their multiples are exact.
#[inline(always)]
fn quarter_turns(x: f32) -> (f64, u64) {
    const PARTS: [f64; 3] = [
        f64::from_bits(0x3ff9_21fb_5440_0000),
        f64::from_bits(0x3dd0_b461_1a60_0000),
        f64::from_bits(0x3ba3_198a_2e03_7073),
    ];
    let x = f64::from(x);
    let shifted = x * FRAC_2_PI + SHIFT;
    let n = shifted - SHIFT;
    let r = ((x - n * PARTS[0]) - n * PARTS[1]) - n * PARTS[2];
    (r, shifted.to_bits())
}

#[inline(always)]
pub(super) fn small_sine(x: f32) -> f32 {
    let (r, quarters) = quarter_turns(x);
    wave(r, quarters)
}

#[inline(always)]
pub(super) fn small_cosine(x: f32) -> f32 {
    let (r, quarters) = quarter_turns(x);
    wave(r, quarters.wrapping_add(1))
}

/// The sine after so many quarter turns, by Taylor's series for |r| up to pi/4.
#[inline(always)]
fn wave(r: f64, quarters: u64) -> f32 {
    let square = -(r * r);
    let mut sine = INVERSE_FACTORIALS[19];
    let mut cosine = INVERSE_FACTORIALS[18];
    for k in (0..9).rev() {
        sine = sine * square + INVERSE_FACTORIALS[2 * k + 1];
        cosine = cosine * square + INVERSE_FACTORIALS[2 * k];
    }
    let value = if quarters & 1 == 0 { r * sine } else { cosine };
    (if quarters & 2 == 0 { value } else { -value }) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All kinds of numbers: every exponent, some fractions, both signs.
    fn numbers() -> impl Iterator<Item = f32> {
        (0..u32::MAX).step_by(52_433).map(f32::from_bits)
    }

    fn check(function: extern "C" fn(f32) -> f32, exact: fn(f64) -> f64) {
        for x in numbers().chain([0.0, -0.0, 1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]) {
            let (got, expected) = (function(x), exact(f64::from(x)) as f32);
            let same = got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan();
            assert!(same, "of {x:e}: {got:e} instead of {expected:e}");
        }
    }

    #[test]
    fn results_are_the_exact_ones_rounded() {
        check(exp2, f64::exp2);
        check(log2, f64::log2);
        check(tanh, f64::tanh);
        check(sine, f64::sin);
        check(cosine, f64::cos);
    }

    #[test]
    fn angles_close_to_quarter_turns_are_reduced_exactly() {
        for turns in (1..300_000).step_by(7) {
            let x = (f64::from(turns) / FRAC_2_PI) as f32;
            if is_small(x) {
                assert_eq!(sine(x), f64::from(x).sin() as f32, "{x:e}");
                assert_eq!(cosine(x), f64::from(x).cos() as f32, "{x:e}");
            }
        }
    }
}
