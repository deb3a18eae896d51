//! Exponential functions, and the logistic function.
//!
//! With n the nearest whole number to x / ln 2, e^x is 2^n e^r, where |r| ≤ ln(2) / 2: the range
//! reduction of Cody and Waite ("Software Manual for the Elementary Functions", 1980).

use std::f64::consts::LN_2;

use super::double_word::DoubleWord;
use super::exponent::{nearest_f32, nearest_f64, power_of_two_f64, scale_f32, scale_f64};
use super::multiply_add::{mul_add_f32, mul_add_f64};
use super::polynomial::{polynomial_f32, polynomial_f64};
use super::short::{exp2_short, expm1_short};
use crate::instruction_set::Isa;

/// ln 2 in two parts, of which the first has so few bits that products with exponents are exact.
pub(super) const LN_2_F32: (f32, f32) = (355.0 / 512.0, -2.121_944_4e-4);
/// ln 2 in two parts: the first 32 bits, and the rest.
pub(super) const LN_2_F64: (f64, f64) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);

/// e^r = 1 + r + r² p(r). `coefficients/fit.py`: error 2^-27.9.
const EXP_F32: [f32; 5] =
    [4.999_999_4e-1, 1.666_652_7e-1, 4.166_827e-2, 8.368_115e-3, 1.381_776e-3];

/// e to the power of `x`.
#[inline(always)]
pub(crate) fn exp_f32<I: Isa>(x: f32) -> f32 {
    // Beyond these the result is infinite, or 0. NaN is neither above nor below, and stays.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let (whole, n) = nearest_f32::<I>(x, std::f32::consts::LOG2_E);
    let r = mul_add_f32::<I>(-whole, LN_2_F32.0, x);
    let r = mul_add_f32::<I>(-whole, LN_2_F32.1, r);
    let tail = mul_add_f32::<I>(r * r, polynomial_f32::<I, _>(r, EXP_F32), r);
    scale_f32(1.0 + tail, n)
}

/// e^r = 1 + r + r² p(r). `coefficients/fit.py`: error 2^-59.8.
const EXP_F64: [f64; 11] = [
    0.5,
    0.1666666666666668,
    0.04166666666666626,
    0.008333333333319882,
    0.001388888888907395,
    0.00019841269890411944,
    2.4801586969141293e-5,
    2.755724004501345e-6,
    2.755756480916081e-7,
    2.511043851342137e-8,
    2.0828153081755283e-9,
];

/// e to the power of `x`.
#[inline(always)]
pub(crate) fn exp_f64<I: Isa>(x: f64) -> f64 {
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };
    let (whole, n) = nearest_f64(x * std::f64::consts::LOG2_E);
    let r = mul_add_f64::<I>(-whole, LN_2_F64.0, x);
    let r = mul_add_f64::<I>(-whole, LN_2_F64.1, r);
    let tail = mul_add_f64::<I>(r * r, polynomial_f64::<I, _>(r, EXP_F64), r);
    scale_f64(1.0 + tail, n)
}

/// The logistic function, `1 / (1 + exp(-x))`, also where exp(-x) is infinite.
#[inline(always)]
pub(crate) fn sigmoid_f32<I: Isa>(x: f32) -> f32 {
    let e = exp_f32::<I>(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

/// The logistic function, `1 / (1 + exp(-x))`, also where exp(-x) is infinite.
#[inline(always)]
pub(crate) fn sigmoid_f64<I: Isa>(x: f64) -> f64 {
    let e = exp_f64::<I>(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

/// 2 to the power of `x`.
#[inline(always)]
pub(crate) fn exp2_f32<I: Isa>(x: f32) -> f32 {
    exp2_short::<I>(x.into()) as f32
}

/// 2^r = 1 + r p(r). `coefficients/fit.py`: error 2^-55.5.
const EXP2_F64: [f64; 12] = [
    LN_2,
    0.24022650695910072,
    0.05550410866482167,
    0.00961812910762834,
    0.0013333558146396008,
    0.00015403530393631352,
    1.5252733851552528e-5,
    1.3215486597173316e-6,
    1.0178052970285992e-7,
    7.0549749687698196e-9,
    4.456429807516013e-10,
    2.562347861580649e-11,
];

/// 2 to the power of `x`.
#[inline(always)]
pub(crate) fn exp2_f64<I: Isa>(x: f64) -> f64 {
    let x = if x > 1100.0 { 1100.0 } else { x };
    let x = if x < -1100.0 { -1100.0 } else { x };
    let (whole, n) = nearest_f64(x);
    let r = x - whole;
    scale_f64(mul_add_f64::<I>(r, polynomial_f64::<I, _>(r, EXP2_F64), 1.0), n)
}

/// e^x = 2^n (1 + r + tail), to about 2^-62 of it.
pub(super) struct ExpParts {
    pub(super) n: i64,
    pub(super) r: f64,
    /// Less than a quarter of r.
    pub(super) tail: f64,
}

/// The parts of e^x; |x| is at most 1000.
#[inline(always)]
pub(super) fn exp_parts<I: Isa>(x: DoubleWord) -> ExpParts {
    let (whole, n) = nearest_f64(x.high * std::f64::consts::LOG2_E);
    let r = DoubleWord::sum(x.high - whole * LN_2_F64.0, -(whole * LN_2_F64.1));
    let r = DoubleWord::ordered_sum(r.high, r.low + x.low);
    let square = r.high * r.high;
    let tail = square * polynomial_f64::<I, _>(r.high, EXP_F64) + (r.low + r.low * r.high);
    ExpParts { n, r: r.high, tail }
}

impl ExpParts {
    /// `1 + r + tail`
    #[inline(always)]
    pub(super) fn mantissa(&self) -> DoubleWord {
        let sum = DoubleWord::ordered_sum(1.0, self.r);
        DoubleWord::ordered_sum(sum.high, sum.low + self.tail)
    }

    /// (e^x - 1) 2^-k
    #[inline(always)]
    pub(super) fn minus_one(&self, k: i64) -> DoubleWord {
        let h = power_of_two_f64(self.n.wrapping_sub(k));
        let sum = DoubleWord::sum(h - power_of_two_f64(-k), h * self.r);
        DoubleWord::ordered_sum(sum.high, sum.low + h * self.tail)
    }
}

/// `exp(x) - 1`
#[inline(always)]
pub(crate) fn expm1_f32<I: Isa>(x: f32) -> f32 {
    expm1_short::<I>(x.into()) as f32
}

/// `exp(x) - 1`
#[inline(always)]
pub(crate) fn expm1_f64<I: Isa>(x: f64) -> f64 {
    let bounded = if x > 710.0 { 710.0 } else { x };
    let bounded = if bounded < -100.0 { -100.0 } else { bounded };
    // Half of it, which is finite where the largest results are.
    let half = exp_parts::<I>(DoubleWord::new(bounded, 0.0)).minus_one(1).rounded();
    if x.abs() < 1e-17 { x } else { half + half }
}
