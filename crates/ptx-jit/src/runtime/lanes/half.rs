//! Arithmetic on 16-bit floating-point numbers, for single ones and for pairs.
//!
//! Everything is free of branches, so that the compiler can make vector code of it.

use ptx::Clamp;

use super::super::math;
use super::area::{Area, Plain};
use super::widest;

/// The operations on 16-bit floating-point numbers. The parameter is that of
/// [`HalfCall::parameter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum HalfCall {
    Add,
    Sub,
    Multiply,
    FusedMultiplyAdd,
    Minimum,
    Maximum,
    /// Variants in which NaN wins.
    MinimumNan,
    MaximumNan,
    Exp2,
    Tanh,
    /// The first operand, clamped.
    Clamp,
}

const BRAIN: u32 = 1;
const PAIRS: u32 = 2;
const SATURATE: u32 = 4;
const RELU: u32 = 8;
const XOR_SIGN: u32 = 16;

impl HalfCall {
    /// Packs the parameter: the format, whether lanes hold pairs, the clamping of results, and for
    /// minimum and maximum whether the result gets the exclusive-or of the signs.
    pub(crate) fn parameter(brain: bool, pairs: bool, clamp: Clamp, xor_sign: bool) -> u32 {
        let flag = |set, flag| if set { flag } else { 0 };
        flag(brain, BRAIN)
            | flag(pairs, PAIRS)
            | flag(clamp == Clamp::Saturate, SATURATE)
            | flag(clamp == Clamp::Relu, RELU)
            | flag(xor_sign, XOR_SIGN)
    }
}

pub(crate) unsafe extern "C" fn half(area: *mut Area, call: HalfCall, parameter: u32) {
    // SAFETY: native code hands over an area of its own stack.
    let area = unsafe { &mut *area };
    widest(
        #[inline(always)]
        || match (parameter & BRAIN != 0, parameter & PAIRS != 0) {
            (false, false) => apply::<F16, u16>(area, call, parameter),
            (false, true) => apply::<F16, [u16; 2]>(area, call, parameter),
            (true, false) => apply::<Bf16, u16>(area, call, parameter),
            (true, true) => apply::<Bf16, [u16; 2]>(area, call, parameter),
        },
    );
}

#[inline(always)]
fn apply<H: Half, L: LaneOfHalves>(area: &mut Area, call: HalfCall, parameter: u32) {
    let unary = |area: &mut Area, op: fn(f32) -> f32| {
        area.map(|a: L| L::each([a; 3], |[a, ..]| finish::<H>(op(H::widen(a)), parameter)));
    };
    match call {
        HalfCall::Add => binary::<H, L>(area, parameter, |a, b| a + b),
        HalfCall::Sub => binary::<H, L>(area, parameter, |a, b| a - b),
        HalfCall::Multiply => binary::<H, L>(area, parameter, |a, b| a * b),
        HalfCall::Minimum => choice::<H, L>(area, parameter, true, false),
        HalfCall::Maximum => choice::<H, L>(area, parameter, false, false),
        HalfCall::MinimumNan => choice::<H, L>(area, parameter, true, true),
        HalfCall::MaximumNan => choice::<H, L>(area, parameter, false, true),
        HalfCall::FusedMultiplyAdd => area.zip3(|a: L, b: L, c: L| {
            L::each([a, b, c], |[a, b, c]| {
                let fused = H::fused(H::widen(a), H::widen(b), H::widen(c));
                // What is clamped is the rounded number.
                clamp::<H>(H::narrow(fused), parameter)
            })
        }),
        HalfCall::Exp2 => unary(area, math::power_of_two),
        HalfCall::Tanh => unary(area, math::hyperbolic_tangent),
        HalfCall::Clamp => area.map(|a: L| L::each([a; 3], |[a, ..]| clamp::<H>(a, parameter))),
    }
}

#[inline(always)]
fn binary<H: Half, L: LaneOfHalves>(
    area: &mut Area,
    parameter: u32,
    op: impl Fn(f32, f32) -> f32 + Copy,
) {
    area.zip(|a: L, b: L| {
        L::each([a, b, b], |[a, b, _]| finish::<H>(op(H::widen(a), H::widen(b)), parameter))
    });
}

/// A result rounded and clamped.
#[inline(always)]
fn finish<H: Half>(value: f32, parameter: u32) -> u16 {
    clamp::<H>(H::narrow(value), parameter)
}

#[inline(always)]
fn clamp<H: Half>(half: u16, parameter: u32) -> u16 {
    if parameter & (SATURATE | RELU) == 0 {
        return half;
    }
    let value = H::widen(half);
    let clamped = if parameter & RELU != 0 {
        if value <= 0.0 { 0.0 } else { value }
    } else {
        let positive = if value > 0.0 { value } else { 0.0 };
        if positive < 1.0 { positive } else { 1.0 }
    };
    H::narrow(clamped)
}

/// Minimum or maximum: zeros ordered by sign, NaN losing unless it is to win.
#[inline(always)]
fn choice<H: Half, L: LaneOfHalves>(area: &mut Area, parameter: u32, minimum: bool, nan: bool) {
    let xor_sign = parameter & XOR_SIGN != 0;
    area.zip(|a: L, b: L| {
        L::each([a, b, b], |[a, b, _]| {
            let mask = if xor_sign { 0x7fff } else { 0xffff };
            let (x, y) = (a & mask, b & mask);
            let (wide_x, wide_y) = (H::widen(x), H::widen(y));
            let (x_first, y_first) = match minimum {
                true => (wide_x < wide_y, wide_y < wide_x),
                false => (wide_x > wide_y, wide_y > wide_x),
            };
            let equal = if minimum { x | y } else { x & y };
            let (x_is_nan, y_is_nan) = (wide_x.is_nan(), wide_y.is_nan());
            let number = if x_first {
                x
            } else if y_first {
                y
            } else {
                equal
            };
            let lone = if x_is_nan { y } else { x };
            let chosen = match (nan, x_is_nan | y_is_nan, x_is_nan & y_is_nan) {
                (_, false, _) => number,
                (true, ..) | (_, _, true) => NAN,
                _ => lone,
            };
            if xor_sign { chosen | (a ^ b) & 0x8000 } else { chosen }
        })
    });
}

/// The NaN that operations on halves give.
const NAN: u16 = 0x7fff;

/// One or two halves.
trait LaneOfHalves: Plain {
    fn each(operands: [Self; 3], op: impl Fn([u16; 3]) -> u16) -> Self;
}

impl LaneOfHalves for u16 {
    #[inline(always)]
    fn each(operands: [u16; 3], op: impl Fn([u16; 3]) -> u16) -> u16 {
        op(operands)
    }
}

impl LaneOfHalves for [u16; 2] {
    #[inline(always)]
    fn each([a, b, c]: [[u16; 2]; 3], op: impl Fn([u16; 3]) -> u16) -> [u16; 2] {
        [op([a[0], b[0], c[0]]), op([a[1], b[1], c[1]])]
    }
}

/// A 16-bit format.
pub(super) trait Half {
    fn widen(half: u16) -> f32;
    /// Rounds to the nearest; NaN becomes the canonical one.
    fn narrow(value: f32) -> u16;
    /// A product and sum of widened halves, such that rounding it gives the exact sum rounded.
    fn fused(a: f32, b: f32, c: f32) -> f32;
}

pub(super) struct F16;
pub(super) struct Bf16;

impl Half for F16 {
    #[inline(always)]
    fn widen(half: u16) -> f32 {
        let magnitude = u32::from(half & 0x7fff);
        // In place of the wider number's exponent and fraction, the half is 2^112 times too small,
        // also if subnormal.
        let scale = f32::from_bits((127 + 112) << 23);
        let number = (f32::from_bits(magnitude << 13) * scale).to_bits();
        let special = magnitude << 13 | 0x7f80_0000;
        let bits = if magnitude >= 0x7c00 { special } else { number };
        f32::from_bits(bits | u32::from(half & 0x8000) << 16)
    }

    #[inline(always)]
    fn narrow(value: f32) -> u16 {
        let bits = value.to_bits();
        let sign = (bits >> 16) as u16 & 0x8000;
        let magnitude = bits & 0x7fff_ffff;
        // Next to 0.5, the last bit of a number of 32 bits is worth as much as that of a subnormal
        // half: the sum is rounded to it, and holds the half in its low bits.
        let small = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        // Ties go to even: what is added stays below half of the last bit where that is 0.
        let odd = magnitude >> 13 & 1;
        let rebias = (127 - 15) << 23;
        let normal = magnitude.wrapping_sub(rebias).wrapping_add(0xfff + odd) >> 13;
        let least_normal = (127 - 14) << 23;
        let rounded = if magnitude < least_normal { small } else { normal };
        let overflow = (127 + 16) << 23;
        let finite = if magnitude >= overflow { 0x7c00 } else { rounded };
        if magnitude > 0x7f80_0000 { NAN } else { finite as u16 | sign }
    }

    /// The product is exact with 32 bits, and neither overflows nor underflows.
    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        let product = a * b;
        let sum = product + c;
        let moved = sum - product;
        let lacks = (product - (sum - moved)) + (c - moved);
        // To odd, so that the next rounding sees on which side of a tie the exact sum lies. For
        // infinite sums what they lack is NaN.
        let bits = sum.to_bits();
        let grows = (lacks > 0.0) == (sum > 0.0);
        let moved = if grows { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
        let inexact = lacks.abs() > 0.0;
        f32::from_bits(if inexact & (bits & 1 == 0) { moved } else { bits })
    }
}

impl Half for Bf16 {
    #[inline(always)]
    fn widen(half: u16) -> f32 {
        f32::from_bits(u32::from(half) << 16)
    }

    #[inline(always)]
    fn narrow(value: f32) -> u16 {
        let bits = value.to_bits();
        let odd = bits >> 16 & 1;
        let rounded = bits.wrapping_add(0x7fff + odd) >> 16;
        if bits & 0x7fff_ffff > 0x7f80_0000 { NAN } else { rounded as u16 }
    }

    /// The product is exact with 64 bits.
    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
        let sum = product + c;
        let moved = sum - product;
        let lacks = (product - (sum - moved)) + (c - moved);
        let bits = sum.to_bits();
        let grows = (lacks > 0.0) == (sum > 0.0);
        let next = if grows { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
        let inexact = lacks.abs() > 0.0;
        let odd = f64::from_bits(if inexact & (bits & 1 == 0) { next } else { bits });
        // And to odd again, with 32 bits.
        let near = odd as f32;
        let back = f64::from(near);
        let bits = near.to_bits();
        let away = back.abs() > odd.abs();
        let next = if away { bits.wrapping_sub(1) } else { bits.wrapping_add(1) };
        let inexact = (back - odd).abs() > 0.0;
        f32::from_bits(if inexact & (bits & 1 == 0) { next } else { bits })
    }
}
