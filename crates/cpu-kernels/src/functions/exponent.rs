//! Floats taken apart into an exponent and a mantissa, and put together again, without conversions
//! between floats and integers: SSE2 and AVX2 have none for 64 bits.

use super::multiply_add::mul_add_f32;
use crate::instruction_set::Isa;

/// 1.5 * 2^23, and twice the exponent's bias. A float of less than 2^22 plus this has no bits for a
/// fraction left, so the sum is rounded to a whole number (halves to even), which stands in its low
/// bits, with the biases of two exponents.
const WHOLE_F32: f32 = 12_582_912.0 + 254.0;
/// 1.5 * 2^52, in the same role for up to 2^51, without biases.
const WHOLE_F64: f64 = 6_755_399_441_055_744.0;

/// The whole number n nearest to `x * factor`, which is at most 2^21 in size, as a float, and in the
/// low bits of a word as [`scale_f32`] takes it.
#[inline(always)]
pub(super) fn nearest_f32<I: Isa>(x: f32, factor: f32) -> (f32, u32) {
    let shifted = mul_add_f32::<I>(x, factor, WHOLE_F32);
    (shifted - WHOLE_F32, shifted.to_bits())
}

/// The nearest whole number, as a float and as an integer; |x| is at most 2^51.
#[inline(always)]
pub(super) fn nearest_f64(x: f64) -> (f64, i64) {
    let shifted = x + WHOLE_F64;
    (shifted - WHOLE_F64, shifted.to_bits().wrapping_sub(WHOLE_F64.to_bits()) as i64)
}

/// The integer as a float; it is less than 2^51 in size.
#[inline(always)]
pub(super) fn float_of(n: i64) -> f64 {
    f64::from_bits((n as u64).wrapping_add(WHOLE_F64.to_bits())) - WHOLE_F64
}

/// `x * 2^n`, rounded once, for the n of [`nearest_f32`] from -252 to 254.
#[inline(always)]
pub(super) fn scale_f32(x: f32, n: u32) -> f32 {
    // In two steps, since 2^n alone may be out of range where the product is not. The biased exponent
    // of the first is half of n with both biases, without the bit that is shifted below it.
    let first = (n << 22) & !((1 << 23) - 1);
    let second = (n << 23).wrapping_sub(first);
    x * f32::from_bits(first) * f32::from_bits(second)
}

/// `x * 2^n`, rounded once if x is at least 2^-1022, for n from -2044 to 2046.
#[inline(always)]
pub(super) fn scale_f64(x: f64, n: i64) -> f64 {
    // As for `f32`.
    let biased = n.wrapping_add(2 * 1023) as u64;
    let first = (biased << 51) & !((1 << 52) - 1);
    let second = (biased << 52).wrapping_sub(first);
    x * f64::from_bits(first) * f64::from_bits(second)
}

/// 2^n, for exponents of normal numbers.
#[inline(always)]
pub(super) fn power_of_two_f32(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// 2^n, for exponents of normal numbers.
#[inline(always)]
pub(super) fn power_of_two_f64(n: i64) -> f64 {
    f64::from_bits((n.wrapping_add(1023) as u64) << 52)
}

/// `x = m * 2^k` with m from √½ up to √2, and k as a float. Of positive, finite x.
#[inline(always)]
pub(super) fn split_f32(x: f32) -> (f32, f32) {
    // √½, rounded up: its bits are subtracted, so that the exponent changes there.
    const ROOT_HALF: i32 = 0x3f35_04f4;
    let is_subnormal = x < f32::MIN_POSITIVE;
    let scaled = if is_subnormal { x * power_of_two_f32(23) } else { x };
    let bits = scaled.to_bits() as i32;
    let k = bits.wrapping_sub(ROOT_HALF) >> 23;
    let m = f32::from_bits(bits.wrapping_sub(k << 23) as u32);
    (m, k as f32 - if is_subnormal { 23.0 } else { 0.0 })
}

/// `x = m * 2^k` with m from √½ up to √2, and k as a float. Of positive, finite x.
#[inline(always)]
pub(super) fn split_f64(x: f64) -> (f64, f64) {
    const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let is_subnormal = x < f64::MIN_POSITIVE;
    let scaled = if is_subnormal { x * power_of_two_f64(52) } else { x };
    // 1024 exponents higher, so that the difference is positive and shifted without its sign.
    const HIGHER: u64 = 1024 << 52;
    let k = scaled.to_bits().wrapping_add(HIGHER - ROOT_HALF) >> 52;
    let m = f64::from_bits(scaled.to_bits().wrapping_sub(k << 52).wrapping_add(HIGHER));
    (m, float_of(k as i64) - if is_subnormal { 1024.0 + 52.0 } else { 1024.0 })
}
