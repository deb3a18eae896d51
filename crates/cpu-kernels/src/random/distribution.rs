//! Numbers of a distribution from random words, with the same bits as the CUDA kernels.
//!
//! Everything is computed in `f64` from additions, multiplications, divisions and square roots,
//! whose results IEEE 754 defines exactly, and rounded once at the end. The logarithm and the
//! cosine of the standard libraries differ in their last bits, so they are written out here and in
//! the kernels (`kernels/include/exact.cuh`). So the CPU and every GPU give the same numbers.
//!
//! Nothing here has branches, so loops over elements become vectors.

use super::philox::join;
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
    /// Whether 53 random bits are used, of two words; otherwise 24 of one.
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
    /// The number of random words that an element takes: 1 or 2.
    const WORDS: usize;

    /// Two neighbouring elements, from their words; where an element takes one, the others are not
    /// used.
    fn pair(parameters: Parameters, words: [u32; 4]) -> [S; 2];
}

/// A uniform number in [a, b). A value that rounding brings to b becomes a.
pub(super) struct UniformReals;

impl<S: FromReal> Drawn<S> for UniformReals {
    const WORDS: usize = words_of::<S>();

    #[inline(always)]
    fn pair(Parameters { a, b, .. }: Parameters, words: [u32; 4]) -> [S; 2] {
        units::<S>(words).map(|unit| {
            let value = S::from_real(a + (b - a) * unit);
            if value.load() < S::from_real(b).load() { value } else { S::from_real(a) }
        })
    }
}

/// Normally distributed numbers of mean a and standard deviation b, two at a time by the
/// transformation of Box and Muller ("A Note on the Generation of Random Normal Deviates", 1958).
pub(super) struct NormalReals;

impl<S: FromReal> Drawn<S> for NormalReals {
    const WORDS: usize = words_of::<S>();

    #[inline(always)]
    fn pair(Parameters { a, b, .. }: Parameters, words: [u32; 4]) -> [S; 2] {
        let ([radius, _], [_, angle]) = (above_zero::<S>(words), units::<S>(words));
        let length = (-2.0 * ln(radius)).sqrt();
        cos_and_sin_turns(angle).map(|part| S::from_real(a + b * (length * part)))
    }
}

/// An exponentially distributed number of rate a.
pub(super) struct ExponentialReals;

impl<S: FromReal> Drawn<S> for ExponentialReals {
    const WORDS: usize = words_of::<S>();

    #[inline(always)]
    fn pair(Parameters { a, .. }: Parameters, words: [u32; 4]) -> [S; 2] {
        above_zero::<S>(words).map(|unit| S::from_real(-ln(unit) / a))
    }
}

/// A whole number in [low, high); any number if the bounds are equal. The remainder has a bias,
/// which for 64 bits is tiny, and which PyTorch accepts too.
pub(super) struct WholeNumbers;

impl<S: FromWhole> Drawn<S> for WholeNumbers {
    const WORDS: usize = 2;

    #[inline(always)]
    fn pair(Parameters { low, high, .. }: Parameters, words: [u32; 4]) -> [S; 2] {
        let bits = [join(words[0], words[1]), join(words[2], words[3])];
        bits.map(|bits| S::from_whole(integer(bits, low, high)))
    }
}

/// One with probability a, else zero.
pub(super) struct Ones;

impl<S: FromWhole> Drawn<S> for Ones {
    const WORDS: usize = 1;

    #[inline(always)]
    fn pair(Parameters { a, .. }: Parameters, [first, second, ..]: [u32; 4]) -> [S; 2] {
        let one = S::store(S::Compute::ONE);
        let zero = S::store(S::Compute::ZERO);
        [first, second].map(|word| if is_chosen(word, a) { one } else { zero })
    }
}

/// A whole number in [low, high) from 64 random bits; any number if the bounds are equal.
#[inline(always)]
pub fn integer(bits: u64, low: i64, high: i64) -> i64 {
    let span = high.wrapping_sub(low) as u64;
    let distance = if span == 0 { bits } else { bits % span };
    low.wrapping_add(distance as i64)
}

/// Whether an event of this probability happens.
#[inline(always)]
pub(crate) fn is_chosen(word: u32, probability: f64) -> bool {
    unit_24(word) < probability
}

/// The number of words that a real element takes.
const fn words_of<S: FromReal>() -> usize {
    if S::WIDE { 2 } else { 1 }
}

/// Two uniform numbers from [0, 1).
#[inline(always)]
fn units<S: FromReal>(words: [u32; 4]) -> [f64; 2] {
    match S::WIDE {
        true => [unit_53(words[0], words[1]), unit_53(words[2], words[3])],
        false => [unit_24(words[0]), unit_24(words[1])],
    }
}

/// Two uniform numbers from (0, 1], where the logarithm is finite: the next ones above [`units`].
#[inline(always)]
fn above_zero<S: FromReal>(words: [u32; 4]) -> [f64; 2] {
    units::<S>(words).map(|unit| unit + if S::WIDE { TO_53_BITS } else { TO_24_BITS })
}

#[inline(always)]
fn unit_24(word: u32) -> f64 {
    f64::from(word >> 8) * TO_24_BITS
}

#[inline(always)]
fn unit_53(high: u32, low: u32) -> f64 {
    (join(high, low) >> 11) as f64 * TO_53_BITS
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

/// The cosine and the sine of 2 pi u for 0 <= u < 1. The angle is taken from the nearest quarter
/// turn, which is exact.
#[inline(always)]
fn cos_and_sin_turns(u: f64) -> [f64; 2] {
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
    let (even, odd) = if nearest & 1 == 1 { (sin, cos) } else { (cos, sin) };
    // A quarter turn on, the cosine is -sin and the sine cos; two, -cos and -sin; three, sin and
    // -cos.
    let cos = if (nearest == 1) | (nearest == 2) { -even } else { even };
    let sin = if (nearest == 2) | (nearest == 3) { -odd } else { odd };
    [cos, sin]
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
        let [first, _]: [S; 2] =
            UniformReals::pair(Parameters { a, b, ..Parameters::default() }, words);
        first
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
            let singles: [f32; 2] = NormalReals::pair(parameters, words);
            let doubles: [f64; 2] = NormalReals::pair(parameters, words);
            assert!(singles.iter().all(|x| x.is_finite()));
            assert!(doubles.iter().all(|x| x.is_finite()));
        }
    }

    #[test]
    fn the_exact_functions_agree_with_the_standard_ones() {
        for i in 1..=1000u32 {
            let u = f64::from(i) / 1000.0;
            assert!((ln(u) - u.ln()).abs() <= 1e-15 * (1.0 + u.ln().abs()), "ln {u}");
            if i < 1000 {
                let (sin, cos) = (u * std::f64::consts::TAU).sin_cos();
                let ours = cos_and_sin_turns(u);
                assert!((ours[0] - cos).abs() < 1e-14, "cos {u}");
                assert!((ours[1] - sin).abs() < 1e-14, "sin {u}");
            }
        }
    }

    #[test]
    fn whole_numbers_cover_the_widest_range_without_overflow() {
        assert_eq!(integer(0, i64::MIN, i64::MAX), i64::MIN);
        assert!((5..7).contains(&integer(!0, 5, 7)));
    }

    #[test]
    fn certain_events_are_certain() {
        assert!(is_chosen(!0, 1.0));
        assert!(!is_chosen(0, 0.0));
        let ones: [TruthByte; 2] =
            Ones::pair(Parameters { a: 1.0, ..Parameters::default() }, [!0; 4]);
        assert_eq!(ones, [TruthByte(1); 2]);
    }
}
