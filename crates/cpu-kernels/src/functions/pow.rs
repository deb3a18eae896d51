//! Powers of floats: `exp(y log(x))` with a logarithm of as many bits more as the exponent takes
//! away, and the special cases of C's `pow` (C17, annex F.10.4.4).

use super::double_word::DoubleWord;
use super::exp::exp_parts;
use super::exponent::scale_f64;
use super::log::{limits_f64, log_to_double_word};
use super::short::{exp2_short, log2_short};
use crate::instruction_set::Isa;

/// `x` to the power of `y`.
#[inline(always)]
pub(crate) fn pow_f32<I: Isa>(x: f32, y: f32) -> f32 {
    let (x, y) = (f64::from(x), f64::from(y));
    special_cases(x, y, exp2_short::<I>(y * log2_short::<I>(x.abs()))) as f32
}

/// `x` to the power of `y`.
#[inline(always)]
pub(crate) fn pow_f64<I: Isa>(x: f64, y: f64) -> f64 {
    let size = x.abs();
    let log = log_to_double_word::<I>(size);
    let product = DoubleWord::product::<I>(y, log.high);
    // Of 0 and infinity, and what lies far beyond the range of results. NaN stays.
    let high = y * limits_f64(size, log.high);
    let is_far = high.abs() > 800.0;
    let high = if high > 800.0 { 800.0 } else { high };
    let high = if high < -800.0 { -800.0 } else { high };
    let low = if is_far { 0.0 } else { product.low + y * log.low };
    let parts = exp_parts::<I>(DoubleWord::ordered_sum(high, low));
    special_cases(x, y, scale_f64(parts.mantissa().rounded(), parts.n))
}

/// The power, where `power` is that of the size of `x`.
#[inline(always)]
fn special_cases(x: f64, y: f64, power: f64) -> f64 {
    // With this added, whole numbers have their last bit as the last bit of the mantissa. From 2^52
    // on every number is whole, and from 2^53 on even.
    const WHOLE: f64 = (1_u64 << 52) as f64;
    let size = y.abs();
    let shifted = if size < WHOLE { size + WHOLE } else { size };
    let is_whole = (size >= WHOLE) | (shifted - WHOLE == size);
    let is_odd = is_whole & (size < 2.0 * WHOLE) & (shifted.to_bits() & 1 == 1);
    // 1 to the power of infinity is not the NaN that 0 times infinity is.
    let power = if (x == -1.0) & (size == f64::INFINITY) { 1.0 } else { power };
    let has_none = (x < 0.0) & (x > f64::NEG_INFINITY) & !is_whole;
    let power = if has_none { f64::NAN } else { power };
    let power = if is_odd { power.copysign(x) } else { power };
    // Also to the power of NaN, and NaN to the power of 0.
    if (x == 1.0) | (y == 0.0) { 1.0 } else { power }
}
