//! Arithmetic and comparisons of 16-bit floating-point numbers, as their bits.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;
use ptx::{Clamp, CompareForm, FloatForm, FloatOp, ScalarType};

use super::arrays::{LaneFunction, call};
use super::float::flush;
use super::lanes::Lanes;
use super::make::vector;
use super::shape::{cast, vector_type};
use crate::codegen::float_bits::infinity;
use crate::codegen::operators::float_condition;
use crate::runtime::HalfCall;

/// Arithmetic on single halves or on pairs.
pub(super) fn float(
    b: &mut FunctionBuilder<'_>,
    form: FloatForm,
    operands: &[Lanes],
) -> Option<Lanes> {
    let element = form.ty.element();
    let brain = element == ScalarType::BF16;
    let operands: Vec<Lanes> = operands
        .iter()
        .map(|lanes| {
            let halves = cast(b, lanes, types::I16X8);
            flushed(b, &halves, element, form.ftz)
        })
        .collect();
    let (function, xor_sign) = match form.op {
        FloatOp::Negate => {
            let sign = vector(b, types::I16X8, 0x8000);
            let negated = operands[0].map(|value| b.ins().bxor(value, sign));
            return Some(cast(b, &negated, vector_type(form.ty)));
        }
        FloatOp::Absolute => {
            let magnitude = vector(b, types::I16X8, 0x7fff);
            let absolute = operands[0].map(|value| b.ins().band(value, magnitude));
            return Some(cast(b, &absolute, vector_type(form.ty)));
        }
        FloatOp::Add => (HalfCall::Add, false),
        FloatOp::Sub => (HalfCall::Sub, false),
        FloatOp::Multiply => (HalfCall::Multiply, false),
        FloatOp::FusedMultiplyAdd => (HalfCall::FusedMultiplyAdd, false),
        FloatOp::Minimum(variant) if variant.nan => (HalfCall::MinimumNan, variant.xor_sign),
        FloatOp::Minimum(variant) => (HalfCall::Minimum, variant.xor_sign),
        FloatOp::Maximum(variant) if variant.nan => (HalfCall::MaximumNan, variant.xor_sign),
        FloatOp::Maximum(variant) => (HalfCall::Maximum, variant.xor_sign),
        FloatOp::Exp2 => (HalfCall::Exp2, false),
        FloatOp::Tanh => (HalfCall::Tanh, false),
        _ => return None,
    };
    let choice = matches!(form.op, FloatOp::Minimum(_) | FloatOp::Maximum(_));
    // What is flushed is the rounded result, before it is clamped.
    let at_once = if form.ftz { Clamp::None } else { form.clamp };
    let pairs = form.ty.is_half_pair();
    let parameter = |clamp| HalfCall::parameter(brain, pairs, clamp, xor_sign);
    let all: Vec<&Lanes> = operands.iter().collect();
    let result = call(b, LaneFunction::Half(function), parameter(at_once), &all, form.ty);
    if choice || !form.ftz {
        return Some(result);
    }
    let halves = cast(b, &result, types::I16X8);
    let halves = flushed(b, &halves, element, true);
    let result = cast(b, &halves, vector_type(form.ty));
    Some(match form.clamp {
        Clamp::None => result,
        clamp => {
            call(b, LaneFunction::Half(HalfCall::Clamp), parameter(clamp), &[&result], form.ty)
        }
    })
}

fn flushed(b: &mut FunctionBuilder<'_>, lanes: &Lanes, ty: ScalarType, ftz: bool) -> Lanes {
    if ftz { lanes.map(|value| flush(b, value, ty)) } else { lanes.clone() }
}

/// Whether a comparison of halves holds, as masks of 16 bits; also for pairs, as vectors of halves.
pub(super) fn comparison(
    b: &mut FunctionBuilder<'_>,
    form: CompareForm,
    x: &Lanes,
    y: &Lanes,
) -> Lanes {
    let ty = form.ty.element();
    let condition = float_condition(form.comparison);
    let [x, y] = [x, y].map(|lanes| {
        let halves = cast(b, lanes, types::I16X8);
        flushed(b, &halves, ty, form.ftz)
    });
    x.zip(&y, |x, y| ordered(b, condition, x, y, infinity(ty)))
}

/// Compares numbers as integers of the same order: those with a sign count down from 0.
fn ordered(
    b: &mut FunctionBuilder<'_>,
    condition: FloatCC,
    x: Value,
    y: Value,
    infinity: u64,
) -> Value {
    let magnitude = vector(b, types::I16X8, 0x7fff);
    let infinity = vector(b, types::I16X8, infinity);
    let magnitudes = [x, y].map(|value| b.ins().band(value, magnitude));
    let nans = magnitudes.map(|value| b.ins().icmp(IntCC::SignedGreaterThan, value, infinity));
    let unordered = b.ins().bor(nans[0], nans[1]);
    let mut ranks = magnitudes;
    for (rank, value) in ranks.iter_mut().zip([x, y]) {
        let sign = b.ins().sshr_imm_u(value, 15);
        let flipped = b.ins().bxor(*rank, sign);
        *rank = b.ins().isub(flipped, sign);
    }
    let [x, y] = ranks;
    let (integers, with_nan) = match condition {
        FloatCC::Equal => (IntCC::Equal, false),
        FloatCC::OrderedNotEqual => (IntCC::NotEqual, false),
        FloatCC::LessThan => (IntCC::SignedLessThan, false),
        FloatCC::LessThanOrEqual => (IntCC::SignedLessThanOrEqual, false),
        FloatCC::GreaterThan => (IntCC::SignedGreaterThan, false),
        FloatCC::GreaterThanOrEqual => (IntCC::SignedGreaterThanOrEqual, false),
        FloatCC::UnorderedOrEqual => (IntCC::Equal, true),
        FloatCC::NotEqual => (IntCC::NotEqual, true),
        FloatCC::UnorderedOrLessThan => (IntCC::SignedLessThan, true),
        FloatCC::UnorderedOrLessThanOrEqual => (IntCC::SignedLessThanOrEqual, true),
        FloatCC::UnorderedOrGreaterThan => (IntCC::SignedGreaterThan, true),
        FloatCC::UnorderedOrGreaterThanOrEqual => (IntCC::SignedGreaterThanOrEqual, true),
        FloatCC::Ordered => return b.ins().bnot(unordered),
        FloatCC::Unordered => return unordered,
    };
    let holds = b.ins().icmp(integers, x, y);
    match with_nan {
        true => b.ins().bor(holds, unordered),
        false => b.ins().band_not(holds, unordered),
    }
}
