//! Floating-point arithmetic of 32 and 64 bits.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use ptx::{Clamp, FloatForm, FloatOp, Rounding, ScalarType};

use super::arrays::{LaneFunction, call};
use super::half;
use super::lanes::Lanes;
use super::make::{constant, vector};
use super::mask::pick;
use super::min_max::min_max;
use super::shape::bitcast;
use crate::codegen::float_bits::{canonical_nan_bits, infinity, sign_bit};
use crate::codegen::operators::rounded_op;
use crate::runtime::FloatCall;

pub(super) fn float(
    b: &mut FunctionBuilder<'_>,
    form: FloatForm,
    operands: &[Lanes],
    observed: bool,
) -> Option<Lanes> {
    let ty = form.ty;
    if ty.is_half() || ty.is_half_pair() {
        return half::float(b, form, operands);
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
        _ if form.rounding != Rounding::Nearest => rounded(b, form, &operands),
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
    let all: Vec<&Lanes> = operands.iter().collect();
    let in_array = |b: &mut FunctionBuilder<'_>, function, parameter| {
        call(b, LaneFunction::Float(function), parameter, &all, ty)
    };
    Some(match op {
        FloatOp::Add => x.zip(&operands[1], |x, y| b.ins().fadd(x, y)),
        FloatOp::Sub => x.zip(&operands[1], |x, y| b.ins().fsub(x, y)),
        FloatOp::Multiply => x.zip(&operands[1], |x, y| b.ins().fmul(x, y)),
        FloatOp::Divide => x.zip(&operands[1], |x, y| b.ins().fdiv(x, y)),
        FloatOp::FusedMultiplyAdd if !has_fma() => {
            in_array(b, FloatCall::FusedMultiplyAdd, ty.bits())
        }
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
        FloatOp::ReciprocalSquareRoot => in_array(b, FloatCall::ReciprocalSquareRoot, 0),
        FloatOp::Sine => in_array(b, FloatCall::Sine, 0),
        FloatOp::Cosine => in_array(b, FloatCall::Cosine, 0),
        FloatOp::Log2 => in_array(b, FloatCall::Log2, 0),
        FloatOp::Exp2 => in_array(b, FloatCall::Exp2, 0),
        FloatOp::Tanh => in_array(b, FloatCall::Tanh, 0),
        FloatOp::GrossReciprocal => x.map(|x| gross(b, x, false)),
        FloatOp::GrossReciprocalSquareRoot => x.map(|x| gross(b, x, true)),
        _ => return None,
    })
}

/// A reciprocal (of the root) of which only the upper half is given, for only the upper half of
/// the operand.
fn gross(b: &mut FunctionBuilder<'_>, value: Value, root: bool) -> Value {
    let upper = vector(b, types::I64X2, !0 << 32);
    let bits = bitcast(b, value, types::I64X2);
    let high = b.ins().band(bits, upper);
    let high = bitcast(b, high, types::F64X2);
    let mut divisor = flush(b, high, ScalarType::F64);
    if root {
        divisor = b.ins().sqrt(divisor);
    }
    let one = one(b, ScalarType::F64);
    let inverse = b.ins().fdiv(one, divisor);
    let inverse = flush(b, inverse, ScalarType::F64);
    let bits = bitcast(b, inverse, types::I64X2);
    let half = vector(b, types::I64X2, 1 << 31);
    let rounded = b.ins().iadd(bits, half);
    let high = b.ins().band(rounded, upper);
    bitcast(b, high, types::F64X2)
}

/// Whether the host fuses products and sums; without, Cranelift would call a function per lane.
fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    true
}

/// An operation with one of the other rounding modes, which the host's instructions do not offer
/// one by one.
fn rounded(b: &mut FunctionBuilder<'_>, form: FloatForm, operands: &[Lanes]) -> Lanes {
    let op = rounded_op(form.op);
    let (function, ty) = match form.ty {
        ScalarType::F32 => (FloatCall::Rounded, ScalarType::F32),
        _ => (FloatCall::RoundedWide, ScalarType::F64),
    };
    // What an operation does not have is zero, as the function looks at all of three.
    let zero = constant(b, 0, ty);
    let mut all = [&zero; 3];
    all.iter_mut().zip(operands).for_each(|(place, lanes)| *place = lanes);
    let parameter = op as u32 | (form.rounding as u32) << 8;
    call(b, LaneFunction::Float(function), parameter, &all, ty)
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
    let nan = vector(b, have, canonical_nan_bits(ty));
    let is_number = b.ins().fcmp(FloatCC::Ordered, value, value);
    pick(b, is_number, value, nan)
}
