//! Floating-point arithmetic of 32 and 64 bits.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use cranelift_frontend::FunctionBuilder;

use super::Lanes;
use super::make::vector;
use super::mask::pick;
use super::min_max::min_max;
use super::shape::bitcast;
use crate::codegen::float::{canonical_nan, infinity, sign_bit};
use crate::ptx::{Clamp, FloatForm, FloatOp, Rounding, ScalarType};

pub(super) fn float(
    b: &mut FunctionBuilder<'_>,
    form: FloatForm,
    operands: &[Lanes],
    observed: bool,
) -> Option<Lanes> {
    let ty = form.ty;
    if ty.is_half() || ty.is_half_pair() {
        return None;
    }
    let operands: Vec<Lanes> = operands.iter().map(|lanes| flushed(b, lanes, form)).collect();
    let value = match form.op {
        FloatOp::Negate => return Some(operands[0].map(|x| b.ins().fneg(x))),
        FloatOp::Absolute => return Some(operands[0].map(|x| b.ins().fabs(x))),
        FloatOp::CopySign => {
            return Some(operands[1].zip(&operands[0], |x, sign| copy_sign(b, x, sign, ty)));
        }
        FloatOp::Minimum(variant) => return Some(min_max(b, &operands, ty, variant, true)),
        FloatOp::Maximum(variant) => return Some(min_max(b, &operands, ty, variant, false)),
        _ if form.rounding != Rounding::Nearest => return None,
        _ => nearest(b, form.op, ty, &operands)?,
    };
    let value = flushed(b, &value, form);
    if form.clamp == Clamp::Saturate {
        return Some(value.map(|value| saturate(b, value)));
    }
    Some(match observed && ty == ScalarType::F32 {
        true => value.map(|value| canonical(b, value, ty)),
        false => value,
    })
}

fn nearest(
    b: &mut FunctionBuilder<'_>,
    op: FloatOp,
    ty: ScalarType,
    operands: &[Lanes],
) -> Option<Lanes> {
    let x = &operands[0];
    Some(match op {
        FloatOp::Add => x.zip(&operands[1], |x, y| b.ins().fadd(x, y)),
        FloatOp::Sub => x.zip(&operands[1], |x, y| b.ins().fsub(x, y)),
        FloatOp::Multiply => x.zip(&operands[1], |x, y| b.ins().fmul(x, y)),
        FloatOp::Divide => x.zip(&operands[1], |x, y| b.ins().fdiv(x, y)),
        FloatOp::FusedMultiplyAdd => {
            let factors = x.values.iter().zip(&operands[1].values);
            let values =
                factors.zip(&operands[2].values).map(|((&x, &y), &z)| b.ins().fma(x, y, z));
            Lanes { values: values.collect() }
        }
        FloatOp::SquareRoot => x.map(|x| b.ins().sqrt(x)),
        FloatOp::Reciprocal => {
            let one = one(b, ty);
            x.map(|x| b.ins().fdiv(one, x))
        }
        FloatOp::ReciprocalSquareRoot if ty == ScalarType::F64 => {
            let one = one(b, ty);
            x.map(|x| {
                let root = b.ins().sqrt(x);
                b.ins().fdiv(one, root)
            })
        }
        _ => return None,
    })
}

fn one(b: &mut FunctionBuilder<'_>, ty: ScalarType) -> Value {
    match ty {
        ScalarType::F32 => vector(b, types::F32X4, 1f32.to_bits().into()),
        _ => vector(b, types::F64X2, 1f64.to_bits()),
    }
}

/// Subnormal numbers as zeros of their sign, if the form says so.
fn flushed(b: &mut FunctionBuilder<'_>, lanes: &Lanes, form: FloatForm) -> Lanes {
    if form.ftz { lanes.map(|value| flush(b, value, form.ty)) } else { lanes.clone() }
}

/// Subnormal numbers as zeros of their sign.
pub(super) fn flush(b: &mut FunctionBuilder<'_>, value: Value, ty: ScalarType) -> Value {
    let have = b.func.dfg.value_type(value);
    let integer = have.as_int();
    let bits = bitcast(b, value, integer);
    let exponent = vector(b, integer, infinity(ty));
    let exponent = b.ins().band(bits, exponent);
    let zero = vector(b, integer, 0);
    let small = b.ins().icmp(IntCC::Equal, exponent, zero);
    let magnitude = vector(b, integer, !sign_bit(ty));
    let gone = b.ins().band(small, magnitude);
    let flushed = b.ins().band_not(bits, gone);
    bitcast(b, flushed, have)
}

/// To [0, 1], and NaN to 0.
pub(super) fn saturate(b: &mut FunctionBuilder<'_>, value: Value) -> Value {
    let ty = b.func.dfg.value_type(value);
    let one = one(b, if ty == types::F32X4 { ScalarType::F32 } else { ScalarType::F64 });
    let zero = vector(b, ty, 0);
    let positive = less_select(b, zero, value, value, zero);
    less_select(b, positive, one, positive, one)
}

/// `then` where x < y, else `otherwise`: one instruction if those are x and y.
pub(super) fn less_select(
    b: &mut FunctionBuilder<'_>,
    x: Value,
    y: Value,
    then: Value,
    otherwise: Value,
) -> Value {
    let less = b.ins().fcmp(FloatCC::LessThan, x, y);
    pick(b, less, then, otherwise)
}

fn copy_sign(b: &mut FunctionBuilder<'_>, value: Value, sign: Value, ty: ScalarType) -> Value {
    let have = b.func.dfg.value_type(value);
    let integer = have.as_int();
    let mask = vector(b, integer, sign_bit(ty));
    let (value, sign) = (bitcast(b, value, integer), bitcast(b, sign, integer));
    let magnitude = b.ins().band_not(value, mask);
    let sign = b.ins().band(sign, mask);
    let joined = b.ins().bor(magnitude, sign);
    bitcast(b, joined, have)
}

/// NaN as the one that the hardware gives.
pub(super) fn canonical(b: &mut FunctionBuilder<'_>, value: Value, ty: ScalarType) -> Value {
    let have: Type = b.func.dfg.value_type(value);
    let nan = vector(b, have, canonical_nan(ty));
    let is_number = b.ins().fcmp(FloatCC::Ordered, value, value);
    pick(b, is_number, value, nan)
}
