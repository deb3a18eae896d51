//! Numbers of a distribution from random words, with the same bits as the CUDA kernels.
//!
//! Everything is computed in `f64` from additions, multiplications, divisions and square roots,
//! whose results IEEE 754 defines exactly, and rounded once at the end. The logarithm and the
//! cosine of the standard libraries differ in their last bits, so they are written out here and in
//! the kernels (`kernels/include/exact.cuh`). So the CPU and every GPU give the same numbers.

use half::f16;

const TO_24_BITS: f64 = 1.0 / (1u32 << 24) as f64;
const TO_53_BITS: f64 = 1.0 / (1u64 << 53) as f64;

/// A floating-point element type that random numbers are rounded to.
pub(crate) trait Rounded: Copy + PartialOrd {
    /// Whether 53 random bits are used; otherwise 24.
    const WIDE: bool;
    /// The nearest value; halves are rounded from `f32`, as everywhere.
    fn round(value: f64) -> Self;
}

impl Rounded for f16 {
    const WIDE: bool = false;

    fn round(value: f64) -> f16 {
        f16::from_f32(value as f32)
    }
}

impl Rounded for f32 {
    const WIDE: bool = false;

    fn round(value: f64) -> f32 {
        value as f32
    }
}

impl Rounded for f64 {
    const WIDE: bool = true;

    fn round(value: f64) -> f64 {
        value
    }
}

/// A uniform number in [a, b). A value that rounding brings to b becomes a.
#[inline]
pub(crate) fn uniform<T: Rounded>(words: [u32; 4], a: f64, b: f64) -> T {
    let unit = if T::WIDE { unit_53(words[0], words[1]) } else { unit_24(words[0]) };
    let value = T::round(a + (b - a) * unit);
    if value < T::round(b) { value } else { T::round(a) }
}

/// A normally distributed number, by the transformation of Box and Muller ("A Note on the
/// Generation of Random Normal Deviates", 1958). It gives two numbers, of which one is used, so
/// that an element depends on its own words alone. The radius is taken from (0, 1], where the
/// logarithm is finite.
#[inline]
pub(crate) fn normal<T: Rounded>(words: [u32; 4], mean: f64, deviation: f64) -> T {
    let (radius, angle) = if T::WIDE {
        (((join(words[0], words[1]) >> 11) + 1) as f64 * TO_53_BITS, unit_53(words[2], words[3]))
    } else {
        (f64::from((words[0] >> 8) + 1) * TO_24_BITS, unit_24(words[1]))
    };
    let length = (-2.0 * ln(radius)).sqrt();
    T::round(mean + deviation * (length * cos_turns(angle)))
}

/// A whole number in [low, high); any number if the bounds are equal. The remainder has a bias,
/// which for words of 64 bits is tiny, and which PyTorch accepts too.
#[inline]
pub(crate) fn integer(words: [u32; 4], low: i64, high: i64) -> i64 {
    let span = high.wrapping_sub(low) as u64;
    let bits = join(words[0], words[1]);
    let distance = if span == 0 { bits } else { bits % span };
    low.wrapping_add(distance as i64)
}

/// True with the given probability.
#[inline]
pub(crate) fn bernoulli(words: [u32; 4], probability: f64) -> bool {
    unit_24(words[0]) < probability
}

fn unit_24(word: u32) -> f64 {
    f64::from(word >> 8) * TO_24_BITS
}

fn unit_53(high: u32, low: u32) -> f64 {
    (join(high, low) >> 11) as f64 * TO_53_BITS
}

fn join(high: u32, low: u32) -> u64 {
    (u64::from(high) << 32) | u64::from(low)
}

/// The natural logarithm of a normal u > 0, to about one unit in the last place: u = 2^e * m with m
/// between sqrt(1/2) and sqrt(2), and ln m = 2 atanh(s) with s = (m - 1) / (m + 1).
fn ln(u: f64) -> f64 {
    const FRACTION: u64 = (1 << 52) - 1;
    const EXPONENT_OF_1: u64 = 1023 << 52;
    const SERIES: [f64; 11] = [
        2.0,
        2.0 / 3.0,
        2.0 / 5.0,
        2.0 / 7.0,
        2.0 / 9.0,
        2.0 / 11.0,
        2.0 / 13.0,
        2.0 / 15.0,
        2.0 / 17.0,
        2.0 / 19.0,
        2.0 / 21.0,
    ];
    let bits = u.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut m = f64::from_bits((bits & FRACTION) | EXPONENT_OF_1);
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    f64::from(exponent) * std::f64::consts::LN_2 + s * polynomial(s * s, &SERIES)
}

/// cos(2 pi u) for 0 <= u < 1. The angle is taken from the nearest quarter turn, which is exact.
fn cos_turns(u: f64) -> f64 {
    const COS: [f64; 9] = [
        1.0,
        -1.0 / 2.0,
        1.0 / 24.0,
        -1.0 / 720.0,
        1.0 / 40320.0,
        -1.0 / 3628800.0,
        1.0 / 479001600.0,
        -1.0 / 87178291200.0,
        1.0 / 20922789888000.0,
    ];
    const SIN: [f64; 9] = [
        1.0,
        -1.0 / 6.0,
        1.0 / 120.0,
        -1.0 / 5040.0,
        1.0 / 362880.0,
        -1.0 / 39916800.0,
        1.0 / 6227020800.0,
        -1.0 / 1307674368000.0,
        1.0 / 355687428096000.0,
    ];
    let quarters = u * 4.0;
    let nearest = (quarters + 0.5) as i32;
    let x = (quarters - f64::from(nearest)) * std::f64::consts::FRAC_PI_2;
    let z = x * x;
    let magnitude = if nearest & 1 == 1 { x * polynomial(z, &SIN) } else { polynomial(z, &COS) };
    // A quarter turn on, the cosine is -sin; two, -cos; three, sin.
    if nearest == 1 || nearest == 2 { -magnitude } else { magnitude }
}

/// c[0] + z * (c[1] + z * (c[2] + ..)), from the innermost outwards.
fn polynomial(z: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().copied().reduce(|sum, c| sum * z + c).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_numbers_stay_below_their_upper_bound() {
        assert!(uniform::<f32>([!0; 4], 0.0, 1.0) < 1.0);
        assert!(uniform::<f64>([!0; 4], 0.0, 1.0) < 1.0);
        assert_eq!(uniform::<f16>([!0; 4], 0.0, 1.0), f16::ZERO, "1 - 2^-24 rounds to 1");
        assert_eq!(uniform::<f32>([0; 4], -2.0, 3.0), -2.0);
    }

    #[test]
    fn normal_numbers_are_finite_at_both_ends() {
        for words in [[0; 4], [!0; 4], [0, !0, 0, !0], [!0, 0, !0, 0]] {
            assert!(normal::<f32>(words, 0.0, 1.0).is_finite());
            assert!(normal::<f64>(words, 0.0, 1.0).is_finite());
        }
    }

    #[test]
    fn the_exact_functions_agree_with_the_standard_ones() {
        for i in 1..=1000u32 {
            let u = f64::from(i) / 1000.0;
            assert!((ln(u) - u.ln()).abs() <= 1e-15 * (1.0 + u.ln().abs()), "ln {u}");
            if i < 1000 {
                let expected = (u * std::f64::consts::TAU).cos();
                assert!((cos_turns(u) - expected).abs() < 1e-14, "cos {u}");
            }
        }
    }

    #[test]
    fn whole_numbers_cover_the_widest_range_without_overflow() {
        assert_eq!(integer([0; 4], i64::MIN, i64::MAX), i64::MIN);
        assert!((5..7).contains(&integer([!0; 4], 5, 7)));
    }

    #[test]
    fn certain_events_are_certain() {
        assert!(bernoulli([!0; 4], 1.0));
        assert!(!bernoulli([0; 4], 0.0));
    }
}
