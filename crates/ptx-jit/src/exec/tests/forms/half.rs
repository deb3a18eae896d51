//! Arithmetic of 16 bits, single and in pairs.

use ptx::Rounding;

use super::table::{Form, binary, check, ternary, unary};
use super::value::{Bf16, F16};
use crate::runtime::{Format, RoundedOp, compute};

pub(super) fn forms() -> Vec<Form> {
    let mut forms = vec![
        binary("add.f16", |a: F16, b: F16| f16(RoundedOp::Add, [a, b, a])),
        binary("sub.rn.f16", |a: F16, b: F16| f16(RoundedOp::Sub, [a, b, a])),
        binary("mul.f16", |a: F16, b: F16| f16(RoundedOp::Multiply, [a, b, a])),
        ternary("fma.rn.f16", |a: F16, b: F16, c: F16| f16(RoundedOp::FusedMultiplyAdd, [a, b, c])),
        ternary("fma.rn.ftz.f16", |a: F16, b: F16, c: F16| {
            flushed(f16(RoundedOp::FusedMultiplyAdd, [a, b, c].map(flushed)))
        }),
        binary("add.ftz.f16", |a: F16, b: F16| {
            flushed(f16(RoundedOp::Add, [a, b, a].map(flushed)))
        }),
        binary("add.sat.f16", |a: F16, b: F16| saturated(f16(RoundedOp::Add, [a, b, a]))),
        ternary("fma.rn.sat.f16", |a: F16, b: F16, c: F16| {
            saturated(f16(RoundedOp::FusedMultiplyAdd, [a, b, c]))
        }),
        unary("neg.f16", |a: F16| F16(a.0 ^ 0x8000)),
        unary("abs.f16", |a: F16| F16(a.0 & 0x7fff)),
        unary("ex2.approx.f16", |a: F16| from_f64(to_f64(a).exp2())),
        unary("tanh.approx.f16", |a: F16| from_f64(to_f64(a).tanh())),
    ];
    for (name, op) in
        [("add", RoundedOp::Add), ("sub", RoundedOp::Sub), ("mul", RoundedOp::Multiply)]
    {
        forms.push(binary(&format!("{name}.f16x2"), move |a: u32, b: u32| {
            pairwise(a, b, a, |a, b, _| f16(op, [a, b, a]))
        }));
    }
    forms.push(ternary("fma.rn.f16x2", |a: u32, b: u32, c: u32| {
        pairwise(a, b, c, |a, b, c| f16(RoundedOp::FusedMultiplyAdd, [a, b, c]))
    }));
    forms.push(unary("neg.f16x2", |a: u32| a ^ 0x8000_8000));
    forms
}

/// Forms for targets after sm_75.
pub(super) fn newer_forms() -> Vec<Form> {
    vec![
        binary("min.f16", |a: F16, b: F16| smaller(a, b)),
        binary("max.f16", |a: F16, b: F16| negated(smaller(negated(a), negated(b)))),
        binary(
            "min.NaN.f16",
            |a: F16, b: F16| {
                if is_nan(a) || is_nan(b) { F16(0x7fff) } else { smaller(a, b) }
            },
        ),
        ternary("fma.rn.relu.f16", |a: F16, b: F16, c: F16| {
            let sum = f16(RoundedOp::FusedMultiplyAdd, [a, b, c]);
            if !is_nan(sum) && sum.0 & 0x8000 != 0 { F16(0) } else { sum }
        }),
        ternary("fma.rn.bf16", |a: Bf16, b: Bf16, c: Bf16| {
            bf16(RoundedOp::FusedMultiplyAdd, [a, b, c])
        }),
        binary("add.rn.bf16", |a: Bf16, b: Bf16| bf16(RoundedOp::Add, [a, b, a])),
        binary("mul.rn.bf16", |a: Bf16, b: Bf16| bf16(RoundedOp::Multiply, [a, b, a])),
        unary("neg.bf16", |a: Bf16| Bf16(a.0 ^ 0x8000)),
    ]
}

#[test]
fn halves_are_rounded_once() {
    check(&forms());
    check(&newer_forms());
}

fn f16(op: RoundedOp, operands: [F16; 3]) -> F16 {
    let operands = operands.map(|value| u64::from(value.0));
    F16(compute(Format::F16, operands, op, Rounding::Nearest) as u16)
}

fn bf16(op: RoundedOp, operands: [Bf16; 3]) -> Bf16 {
    let operands = operands.map(|value| u64::from(value.0));
    Bf16(compute(Format::Bf16, operands, op, Rounding::Nearest) as u16)
}

pub(super) fn is_nan(value: F16) -> bool {
    value.0 & 0x7fff > 0x7c00
}

pub(super) fn to_f64(value: F16) -> f64 {
    ::half::f16::from_bits(value.0).to_f64()
}

fn from_f64(value: f64) -> F16 {
    if value.is_nan() { F16(0x7fff) } else { F16(::half::f16::from_f32(value as f32).to_bits()) }
}

fn flushed(value: F16) -> F16 {
    if value.0 & 0x7c00 == 0 { F16(value.0 & 0x8000) } else { value }
}

fn saturated(value: F16) -> F16 {
    match to_f64(value) {
        number if number > 0.0 => {
            if number < 1.0 {
                value
            } else {
                F16(0x3c00)
            }
        }
        _ => F16(0),
    }
}

fn negated(value: F16) -> F16 {
    if is_nan(value) { value } else { F16(value.0 ^ 0x8000) }
}

fn smaller(a: F16, b: F16) -> F16 {
    match (is_nan(a), is_nan(b)) {
        (true, true) => F16(0x7fff),
        (true, false) => b,
        (false, true) => a,
        _ if to_f64(a) < to_f64(b) || to_f64(a) == to_f64(b) && a.0 & 0x8000 != 0 => a,
        _ => b,
    }
}

fn pairwise(a: u32, b: u32, c: u32, op: impl Fn(F16, F16, F16) -> F16) -> u32 {
    let half = |word: u32, shift| F16((word >> shift) as u16);
    let [low, high] = [0, 16].map(|shift| op(half(a, shift), half(b, shift), half(c, shift)));
    u32::from(high.0) << 16 | u32::from(low.0)
}
