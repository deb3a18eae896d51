//! Logarithms.

use super::double_word::{DoubleWord, halves};
use super::exp::{LN_2_F32, LN_2_F64};
use super::exponent::{nearest_f64, power_of_two_f64, split_f32, split_f64};
use super::multiply_add::mul_add_f32;
use super::polynomial::{polynomial_f32, polynomial_f64};
use super::short::log2_short;
use crate::instruction_set::Isa;

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
pub(crate) fn log_f32<I: Isa>(x: f32) -> f32 {
    let (m, k) = split_f32(x);
    let f = m - 1.0;
    let square = f * f;
    let tail = mul_add_f32::<I>(f * square, polynomial_f32::<I, _>(f, LOG_F32), k * LN_2_F32.1);
    let tail = mul_add_f32::<I>(-0.5, square, tail);
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

/// log(1 + f) as `f - (half_square - series)`, for f = m - 1. The order of operations is that of
/// FDLIBM (Sun, 1993): f² / 2 is taken out of the series, and f is added last.
#[inline(always)]
fn mantissa_parts<I: Isa>(m: f64) -> (f64, f64, f64) {
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let half_square = 0.5 * f * f;
    (f, half_square, s * (half_square + z * polynomial_f64::<I, _>(z, LOG_F64)))
}

/// The natural logarithm.
#[inline(always)]
pub(crate) fn log_f64<I: Isa>(x: f64) -> f64 {
    let (m, k) = split_f64(x);
    let (f, half_square, series) = mantissa_parts::<I>(m);
    let tail = half_square - (series + k * LN_2_F64.1);
    limits_f64(x, k * LN_2_F64.0 - (tail - f))
}

/// 1 / ln(2), 1 / ln(10) and log10(2) in two parts, of which the first have 26, 26 and 40 bits.
const LOG2: (f64, f64) = (1.4426950216293335, 1.9259629911266175e-8);
const LOG10: (f64, f64) = (0.4342944771051407, 4.798111141615973e-9);
const LOG10_2: (f64, f64) = (0.30102999566361177, 3.694239077158931e-13);

/// The logarithm to another base: `scale` is 1 / ln(base), and `of_two` the logarithm of 2, in two
/// parts as above.
#[inline(always)]
fn log_to_base<I: Isa>(x: f64, scale: (f64, f64), of_two: (f64, f64)) -> f64 {
    let (m, k) = split_f64(x);
    let (f, half_square, series) = mantissa_parts::<I>(m);
    // The first 26 bits of the logarithm, whose product is exact, and the rest.
    let high = halves(f - half_square).0;
    let low = ((f - high) - half_square) + series;
    let product = high * scale.0;
    let rest = k * of_two.1 + ((low + high) * scale.1 + low * scale.0);
    let sum = DoubleWord::ordered_sum(k * of_two.0, product);
    limits_f64(x, sum.high + (sum.low + rest))
}

/// The logarithm (to any base) of what has none, or an infinite one; else `log`.
#[inline(always)]
pub(super) fn limits_f64(x: f64, log: f64) -> f64 {
    let log = if x < f64::INFINITY { log } else { x };
    let log = if x == 0.0 { f64::NEG_INFINITY } else { log };
    if x < 0.0 { f64::NAN } else { log }
}

/// log(1 + f) = s (2 + 2/3 z + z² p(z)), with s as above and z = s². `coefficients/fit.py`: error
/// 2^-73.5 of the result.
const LOG_DOUBLE_WORD: [f64; 8] = [
    0.3999999999999998,
    0.2857142857144384,
    0.22222222217789595,
    0.18181818844030745,
    0.15384558424679678,
    0.13336264691131028,
    0.11675776035064846,
    0.11981798035918874,
];

/// log(1 + f) to about 2^-65 of it, for f from √½ - 1 up to √2 - 1. Sums in between are not
/// normalized: what they lack is far below that.
#[inline(always)]
fn log_of_mantissa<I: Isa>(f: DoubleWord) -> DoubleWord {
    const TWO_THIRDS: DoubleWord = DoubleWord::new(0.6666666666666666, 3.700743415417188e-17);
    let below = DoubleWord::ordered_sum(2.0, f.high);
    let inverse = 1.0 / below.high;
    let s = f.high * inverse;
    let product = DoubleWord::product::<I>(s, below.high);
    let error = f.low - s * (below.low + f.low);
    let s_low = (((f.high - product.high) - product.low) + error) * inverse;
    let z = DoubleWord::product::<I>(s, s);
    let z_low = z.low + 2.0 * s * s_low;
    // From the third term on, 53 bits are enough.
    let series = z.high * polynomial_f64::<I, _>(z.high, LOG_DOUBLE_WORD);
    let second = DoubleWord::ordered_sum(TWO_THIRDS.high, series);
    let second_low = second.low + TWO_THIRDS.low;
    let tail = DoubleWord::product::<I>(z.high, second.high);
    let tail_low = tail.low + (z.high * second_low + z_low * second.high);
    let sum = DoubleWord::ordered_sum(2.0, tail.high);
    let sum_low = sum.low + tail_low;
    let log = DoubleWord::product::<I>(s, sum.high);
    DoubleWord::new(log.high, log.low + (s * sum_low + s_low * sum.high))
}

/// The natural logarithm of `(1 + f) 2^k`, as [`log_of_mantissa`].
#[inline(always)]
fn log_of_parts<I: Isa>(f: DoubleWord, k: f64) -> DoubleWord {
    let log = log_of_mantissa::<I>(f);
    let sum = DoubleWord::ordered_sum(k * LN_2_F64.0, log.high);
    DoubleWord::new(sum.high, sum.low + (log.low + k * LN_2_F64.1)).normalized()
}

/// The natural logarithm to about 2^-65 of it, of positive and finite numbers.
#[inline(always)]
pub(super) fn log_to_double_word<I: Isa>(x: f64) -> DoubleWord {
    let (m, k) = split_f64(x);
    log_of_parts::<I>(DoubleWord::new(m - 1.0, 0.0), k)
}

/// The natural logarithm to about 2^-65 of it, of positive and normal numbers.
#[inline(always)]
pub(super) fn log_of_double_word<I: Isa>(x: DoubleWord) -> DoubleWord {
    let (m, k) = split_f64(x.high);
    // In two steps, since k is up to 1024.
    let scale = 0.5 * power_of_two_f64(nearest_f64(1.0 - k).1);
    log_of_parts::<I>(DoubleWord::sum(m - 1.0, x.low * scale), k)
}

/// The logarithm to base 2.
#[inline(always)]
pub(crate) fn log2_f32<I: Isa>(x: f32) -> f32 {
    log2_short::<I>(x.into()) as f32
}

/// The logarithm to base 2.
#[inline(always)]
pub(crate) fn log2_f64<I: Isa>(x: f64) -> f64 {
    log_to_base::<I>(x, LOG2, (1.0, 0.0))
}

/// The logarithm to base 10.
#[inline(always)]
pub(crate) fn log10_f32<I: Isa>(x: f32) -> f32 {
    (log2_short::<I>(x.into()) * std::f64::consts::LOG10_2) as f32
}

/// The logarithm to base 10.
#[inline(always)]
pub(crate) fn log10_f64<I: Isa>(x: f64) -> f64 {
    log_to_base::<I>(x, LOG10, LOG10_2)
}

/// log(1 + x)
#[inline(always)]
pub(crate) fn log1p_f32<I: Isa>(x: f32) -> f32 {
    let x = f64::from(x);
    let sum = 1.0 + x;
    // The sum's rounding error matters where the logarithm is small.
    let error = if x.abs() < 1.0 { x - (sum - 1.0) } else { 0.0 };
    (log2_short::<I>(sum) * std::f64::consts::LN_2 + error).copysign(x) as f32
}

/// log(1 + x)
#[inline(always)]
pub(crate) fn log1p_f64<I: Isa>(x: f64) -> f64 {
    let sum = DoubleWord::sum(1.0, x);
    let (m, k) = split_f64(sum.high);
    let (f, half_square, series) = mantissa_parts::<I>(m);
    // The logarithm of the sum's rounding error beside the sum.
    let more = sum.low / sum.high;
    let tail = half_square - (series + (k * LN_2_F64.1 + more));
    let log = limits_f64(sum.high, k * LN_2_F64.0 - (tail - f));
    if x.abs() < 1e-17 { x } else { log }
}
