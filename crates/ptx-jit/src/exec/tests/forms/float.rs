//! Floating-point arithmetic of 32 and 64 bits.

use ptx::Rounding;

use super::table::{Form, ROUNDING_MODES, binary, check, ternary, unary};
use super::value::Value;
use crate::runtime::{Format, RoundedOp, compute};

/// A type of floating-point numbers, as the forms need it.
pub(super) trait Real: Value + PartialOrd {
    const NAME: &'static str;
    const FORMAT: Format;
    const SIGN: u64;
    const INFINITY: u64;
    /// The NaN that arithmetic gives.
    const NAN: u64;
    fn is_nan(self) -> bool {
        self.into_bits() & !Self::SIGN > Self::INFINITY
    }
}

impl Real for f32 {
    const NAME: &'static str = "f32";
    const FORMAT: Format = Format::F32;
    const SIGN: u64 = 1 << 31;
    const INFINITY: u64 = 0x7f80_0000;
    const NAN: u64 = 0x7fff_ffff;
}

impl Real for f64 {
    const NAME: &'static str = "f64";
    const FORMAT: Format = Format::F64;
    const SIGN: u64 = 1 << 63;
    const INFINITY: u64 = 0x7ff0_0000_0000_0000;
    const NAN: u64 = 0x7ff8_0000_0000_0000;
}

pub(super) fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    forms.extend(common::<f32>());
    forms.extend(common::<f64>());
    forms.extend(flushing());
    forms.extend(approximate());
    forms
}

fn common<T: Real>() -> Vec<Form> {
    let ty = T::NAME;
    let mut forms = vec![
        unary(&format!("neg.{ty}"), |a: T| T::from_bits(a.into_bits() ^ T::SIGN)),
        unary(&format!("abs.{ty}"), |a: T| T::from_bits(a.into_bits() & !T::SIGN)),
        binary(&format!("copysign.{ty}"), |a: T, b: T| {
            T::from_bits(a.into_bits() & T::SIGN | b.into_bits() & !T::SIGN)
        }),
        binary(&format!("min.{ty}"), |a: T, b: T| smaller(a, b)),
        binary(&format!("max.{ty}"), |a: T, b: T| negated(smaller(negated(a), negated(b)))),
    ];
    for (mode, rounding) in ROUNDING_MODES {
        let run = move |op, a: T, b: T, c: T| {
            rounded::<T>(op, rounding, [a.into_bits(), b.into_bits(), c.into_bits()])
        };
        forms.extend([
            binary(&format!("add.{mode}.{ty}"), move |a: T, b| run(RoundedOp::Add, a, b, a)),
            binary(&format!("sub.{mode}.{ty}"), move |a: T, b| run(RoundedOp::Sub, a, b, a)),
            binary(&format!("mul.{mode}.{ty}"), move |a: T, b| run(RoundedOp::Multiply, a, b, a)),
            binary(&format!("div.{mode}.{ty}"), move |a: T, b| run(RoundedOp::Divide, a, b, a)),
            ternary(&format!("fma.{mode}.{ty}"), move |a: T, b, c| {
                run(RoundedOp::FusedMultiplyAdd, a, b, c)
            }),
            unary(&format!("sqrt.{mode}.{ty}"), move |a: T| run(RoundedOp::SquareRoot, a, a, a)),
            unary(&format!("rcp.{mode}.{ty}"), move |a: T| run(RoundedOp::Reciprocal, a, a, a)),
        ]);
    }
    forms
}

fn flushing() -> Vec<Form> {
    let run = |op, a: f32, b: f32, c: f32| {
        let operands = [a, b, c].map(|value| flushed(value).into_bits());
        flushed(rounded::<f32>(op, Rounding::Nearest, operands))
    };
    vec![
        binary("add.ftz.f32", move |a: f32, b| run(RoundedOp::Add, a, b, a)),
        binary("mul.ftz.f32", move |a: f32, b| run(RoundedOp::Multiply, a, b, a)),
        binary("div.rn.ftz.f32", move |a: f32, b| run(RoundedOp::Divide, a, b, a)),
        ternary("fma.rn.ftz.f32", move |a: f32, b, c| run(RoundedOp::FusedMultiplyAdd, a, b, c)),
        unary("sqrt.rn.ftz.f32", move |a: f32| run(RoundedOp::SquareRoot, a, a, a)),
        unary("abs.ftz.f32", |a: f32| flushed(a).abs()),
        unary("neg.ftz.f32", |a: f32| -flushed(a)),
        binary("min.ftz.f32", |a: f32, b: f32| smaller(flushed(a), flushed(b))),
        binary("add.sat.f32", |a: f32, b: f32| saturated(a + b)),
        binary("mul.ftz.sat.f32", |a: f32, b: f32| saturated(flushed(flushed(a) * flushed(b)))),
        ternary("fma.rn.sat.f32", |a: f32, b: f32, c: f32| saturated(a.mul_add(b, c))),
        ternary("fma.rz.ftz.sat.f32", |a: f32, b: f32, c: f32| {
            let operands = [a, b, c].map(|value| flushed(value).into_bits());
            saturated(flushed(rounded::<f32>(
                RoundedOp::FusedMultiplyAdd,
                Rounding::TowardZero,
                operands,
            )))
        }),
    ]
}

/// Approximate instructions, which give the exact result rounded here.
fn approximate() -> Vec<Form> {
    let exact = |function: fn(f64) -> f64| move |a: f32| canonical(function(f64::from(a)) as f32);
    vec![
        binary("div.approx.f32", |a: f32, b: f32| canonical(a / b)),
        binary("div.full.f32", |a: f32, b: f32| canonical(a / b)),
        unary("sqrt.approx.f32", |a: f32| canonical(a.sqrt())),
        unary("rcp.approx.f32", |a: f32| canonical(1.0 / a)),
        unary("rsqrt.approx.f32", exact(|a| 1.0 / a.sqrt())),
        unary("sin.approx.f32", exact(f64::sin)),
        unary("cos.approx.f32", exact(f64::cos)),
        unary("lg2.approx.f32", exact(f64::log2)),
        unary("ex2.approx.f32", exact(f64::exp2)),
        unary("tanh.approx.f32", exact(f64::tanh)),
        unary("ex2.approx.ftz.f32", |a: f32| {
            canonical(flushed(f64::from(flushed(a)).exp2() as f32))
        }),
    ]
}

/// The operation in the mode; NaN is the type's own.
pub(super) fn rounded<T: Real>(op: RoundedOp, rounding: Rounding, operands: [u64; 3]) -> T {
    let result = T::from_bits(compute(T::FORMAT, operands, op, rounding));
    canonical(result)
}

pub(super) fn canonical<T: Real>(value: T) -> T {
    if value.is_nan() { T::from_bits(T::NAN) } else { value }
}

/// Subnormal numbers as zeros of their sign.
pub(super) fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0f32.copysign(value) } else { value }
}

fn saturated(value: f32) -> f32 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

fn negated<T: Real>(value: T) -> T {
    if value.is_nan() { value } else { T::from_bits(value.into_bits() ^ T::SIGN) }
}

/// The minimum: NaN loses, and the negative zero is smaller than the positive one.
fn smaller<T: Real>(a: T, b: T) -> T {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => T::from_bits(T::NAN),
        (true, false) => b,
        (false, true) => a,
        _ if a < b || a == b && a.into_bits() & T::SIGN != 0 => a,
        _ => b,
    }
}

#[test]
fn arithmetic_is_rounded_as_asked() {
    check(&forms());
}
