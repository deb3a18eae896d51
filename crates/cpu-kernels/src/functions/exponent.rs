//! Floats taken apart into an exponent and a mantissa, and put together again, without conversions
//! between floats and integers: SSE2 and AVX2 have none for 64 bits.

/// 1.5 * 2^23. A float of up to 2^22 plus this has no bits for a fraction left, so the sum is
/// rounded to a whole number (halves to even), which stands in its low bits.
const WHOLE_F32: f32 = 12_582_912.0;
/// 1.5 * 2^52, in the same role for up to 2^51.
const WHOLE_F64: f64 = 6_755_399_441_055_744.0;

/// The nearest whole number, as a float and as an integer; |x| is at most 2^22.
#[inline(always)]
pub(super) fn nearest_f32(x: f32) -> (f32, i32) {
    let shifted = x + WHOLE_F32;
    (shifted - WHOLE_F32, shifted.to_bits().wrapping_sub(WHOLE_F32.to_bits()) as i32)
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

/// `x * 2^n`, rounded once, for n from -252 to 254.
#[inline(always)]
pub(super) fn scale_f32(x: f32, n: i32) -> f32 {
    // In two steps, since 2^n alone may be out of range where the product is not.
    let half = n >> 1;
    x * power_of_two_f32(half) * power_of_two_f32(n.wrapping_sub(half))
}

/// `x * 2^n`, rounded once if x is at least 2^-1022, for n from -2044 to 2046.
#[inline(always)]
pub(super) fn scale_f64(x: f64, n: i64) -> f64 {
    // The same as an unsigned shift, which SSE2 and AVX2 have for 64 bits: n + 2048 is positive.
    let half = ((n.wrapping_add(2048) as u64) >> 1).wrapping_sub(1024) as i64;
    x * power_of_two_f64(half) * power_of_two_f64(n.wrapping_sub(half))
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
