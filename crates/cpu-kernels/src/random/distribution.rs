//! Numbers of a distribution from random words, with the same bits as the CUDA kernels.
//!
//! Everything is computed in `f64` from additions, multiplications, divisions and square roots,
//! whose results IEEE 754 defines exactly, and rounded once at the end. The logarithm and the
//! cosine of the standard libraries differ in their last bits, so they are written out here and in
//! the kernels (`kernels/include/exact.cuh`). So the CPU and every GPU give the same numbers.
//!
//! Nothing here has branches, so loops over elements become vectors.

use crate::values::{BrainBits, ComputeValue, ConvertedFrom, HalfBits, StoredValue};

const TO_24_BITS: f64 = 1.0 / (1u32 << 24) as f64;
const TO_53_BITS: f64 = 1.0 / (1u64 << 53) as f64;

/// An element type that whole random numbers become.
pub(super) trait FromWhole: StoredValue {
    /// The nearest value, or the low bits.
    fn from_whole(value: i64) -> Self;
}

impl<S: StoredValue<Compute: ConvertedFrom<i64>>> FromWhole for S {
    #[inline(always)]
    fn from_whole(value: i64) -> S {
        S::store(S::Compute::converted_from(value))
    }
}

/// A floating-point element type that random numbers are rounded to.
pub(super) trait FromReal: StoredValue {
    /// Whether 53 random bits are used; otherwise 24.
    const WIDE: bool;
    /// The nearest value; halves are rounded from `f32`, as everywhere.
    fn from_real(value: f64) -> Self;
}

macro_rules! from_real {
    ($($type:ty: $wide:literal;)+) => {$(
        impl FromReal for $type {
            const WIDE: bool = $wide;

            #[inline(always)]
            fn from_real(value: f64) -> $type {
                <$type>::store(ConvertedFrom::converted_from(value))
            }
        }
    )+};
}

from_real! { f64: true; f32: false; HalfBits: false; BrainBits: false; }

/// The parameters of a distribution; each one uses some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parameters {
    /// The lower bound, the mean, the probability, or the rate.
    pub a: f64,
    /// The upper bound, or the standard deviation.
    pub b: f64,
    /// The lower bound of whole numbers.
    pub low: i64,
    /// The bound that whole numbers stay below; if it equals `low`, there are none.
    pub high: i64,
}

/// A distribution of elements of `S`.
pub(super) trait Drawn<S>: 'static {
    fn element(parameters: Parameters, words: [u32; 4]) -> S;
}

/// A uniform number in [a, b). A value that rounding brings to b becomes a.
pub(super) struct UniformReals;

impl<S: FromReal> Drawn<S> for UniformReals {
    #[inline(always)]
    fn element(Parameters { a, b, .. }: Parameters, words: [u32; 4]) -> S {
        let unit = if S::WIDE { unit_53(words[0], words[1]) } else { unit_24(words[0]) };
        let value = S::from_real(a + (b - a) * unit);
        if value.load() < S::from_real(b).load() { value } else { S::from_real(a) }
    }
}

/// A normally distributed number of mean a and standard deviation b, by the transformation of Box
/// and Muller ("A Note on the Generation of Random Normal Deviates", 1958). It gives two numbers, of
/// which one is used, so that an element depends on its own words alone.
pub(super) struct NormalReals;

impl<S: FromReal> Drawn<S> for NormalReals {
    #[inline(always)]
    fn element(Parameters { a, b, .. }: Parameters, words: [u32; 4]) -> S {
        let angle = if S::WIDE { unit_53(words[2], words[3]) } else { unit_24(words[1]) };
        let length = (-2.0 * ln(above_zero::<S>(words))).sqrt();
        S::from_real(a + b * (length * cos_turns(angle)))
    }
}

/// An exponentially distributed number of rate a.
pub(super) struct ExponentialReals;

impl<S: FromReal> Drawn<S> for ExponentialReals {
    #[inline(always)]
    fn element(Parameters { a, .. }: Parameters, words: [u32; 4]) -> S {
        S::from_real(-ln(above_zero::<S>(words)) / a)
    }
}

/// A whole number in [low, high); any number if the bounds are equal. The remainder has a bias,
/// which for words of 64 bits is tiny, and which PyTorch accepts too.
pub(super) struct WholeNumbers;

impl<S: FromWhole> Drawn<S> for WholeNumbers {
    #[inline(always)]
    fn element(Parameters { low, high, .. }: Parameters, words: [u32; 4]) -> S {
        S::from_whole(integer(words, low, high))
    }
}

/// One with probability a, else zero.
pub(super) struct Ones;

impl<S: FromWhole> Drawn<S> for Ones {
    #[inline(always)]
    fn element(Parameters { a, .. }: Parameters, words: [u32; 4]) -> S {
        let one = S::store(S::Compute::ONE);
        if is_chosen(words, a) { one } else { S::store(S::Compute::ZERO) }
    }
}

/// A whole number in [low, high) from random words; any number if the bounds are equal.
#[inline(always)]
pub fn integer(words: [u32; 4], low: i64, high: i64) -> i64 {
    let span = high.wrapping_sub(low) as u64;
    let bits = join(words[0], words[1]);
    let distance = if span == 0 { bits } else { bits % span };
    low.wrapping_add(distance as i64)
}

/// Whether an event of this probability happens.
#[inline(always)]
pub(super) fn is_chosen(words: [u32; 4], probability: f64) -> bool {
    unit_24(words[0]) < probability
}

/// A uniform number from (0, 1], where the logarithm is finite.
#[inline(always)]
fn above_zero<S: FromReal>(words: [u32; 4]) -> f64 {
    match S::WIDE {
        true => ((join(words[0], words[1]) >> 11) + 1) as f64 * TO_53_BITS,
        false => f64::from((words[0] >> 8) + 1) * TO_24_BITS,
    }
}

#[inline(always)]
fn unit_24(word: u32) -> f64 {
    f64::from(word >> 8) * TO_24_BITS
}

#[inline(always)]
fn unit_53(high: u32, low: u32) -> f64 {
    (join(high, low) >> 11) as f64 * TO_53_BITS
}

#[inline(always)]
fn join(high: u32, low: u32) -> u64 {
    (u64::from(high) << 32) | u64::from(low)
}

/// The natural logarithm of a normal u > 0, to about one unit in the last place: u = 2^e * m with m
/// between sqrt(1/2) and sqrt(2), and ln m = 2 atanh(s) with s = (m - 1) / (m + 1).
#[inline(always)]
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
    let exponent = (bits >> 52) as i32 - 1023;
    let m = f64::from_bits((bits & FRACTION) | EXPONENT_OF_1);
    let is_large = m > std::f64::consts::SQRT_2;
    let m = if is_large { m * 0.5 } else { m };
    let exponent = exponent + i32::from(is_large);
    let s = (m - 1.0) / (m + 1.0);
    f64::from(exponent) * std::f64::consts::LN_2 + s * polynomial(s * s, SERIES)
}

/// cos(2 pi u) for 0 <= u < 1. The angle is taken from the nearest quarter turn, which is exact.
#[inline(always)]
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
    // SAFETY: the angle is at least 0 and less than a turn, so this is from 0 to 4.
    let nearest = unsafe { (quarters + 0.5).to_int_unchecked::<i32>() };
    let x = (quarters - f64::from(nearest)) * std::f64::consts::FRAC_PI_2;
    let z = x * x;
    let (sin, cos) = (x * polynomial(z, SIN), polynomial(z, COS));
    let magnitude = if nearest & 1 == 1 { sin } else { cos };
    // A quarter turn on, the cosine is -sin; two, -cos; three, sin.
    if (nearest == 1) | (nearest == 2) { -magnitude } else { magnitude }
}

/// c[0] + z * (c[1] + z * (c[2] + ..)), from the innermost outwards.
#[inline(always)]
fn polynomial<const N: usize>(z: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    for at in (0..N - 1).rev() {
        sum = sum * z + coefficients[at];
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::TruthByte;

    fn uniform<S: FromReal>(words: [u32; 4], a: f64, b: f64) -> S {
        UniformReals::element(Parameters { a, b, ..Parameters::default() }, words)
    }

    #[test]
    fn uniform_numbers_stay_below_their_upper_bound() {
        assert!(uniform::<f32>([!0; 4], 0.0, 1.0) < 1.0);
        assert!(uniform::<f64>([!0; 4], 0.0, 1.0) < 1.0);
        assert_eq!(uniform::<HalfBits>([!0; 4], 0.0, 1.0).0, 0, "1 - 2^-24 rounds to 1");
        assert_eq!(uniform::<f32>([0; 4], -2.0, 3.0), -2.0);
    }

    #[test]
    fn normal_numbers_are_finite_at_both_ends() {
        let parameters = Parameters { b: 1.0, ..Parameters::default() };
        for words in [[0; 4], [!0; 4], [0, !0, 0, !0], [!0, 0, !0, 0]] {
            let single: f32 = NormalReals::element(parameters, words);
            let double: f64 = NormalReals::element(parameters, words);
            assert!(single.is_finite() && double.is_finite());
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
        assert!(is_chosen([!0; 4], 1.0));
        assert!(!is_chosen([0; 4], 0.0));
        let one: TruthByte = Ones::element(Parameters { a: 1.0, ..Parameters::default() }, [!0; 4]);
        assert_eq!(one.0, 1);
    }
}
