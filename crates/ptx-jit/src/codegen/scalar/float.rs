//! Floating-point arithmetic of 32 and 64 bits, and what all floating-point types share.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{Clamp, FloatForm, FloatOp, MinMax, Rounding, ScalarType};
use smallvec::SmallVec;

use super::half::{half_arithmetic, half_pairs, widen_half};
use crate::abi::Helper;
use crate::codegen::emitter::Emitter;
use crate::codegen::float_bits::{canonical_nan_bits, infinity, sign_bit};
use crate::codegen::operators::rounded_op;
use crate::codegen::types::{integer_type, machine_type};

/// The result of an operation on floating-point numbers. `observed` says whether something looks at
/// the bits of the result and not only at its value.
pub(super) fn float(
    e: &mut Emitter<'_>,
    form: FloatForm,
    operands: &[Value],
    observed: bool,
) -> Value {
    if form.ty.is_half_pair() {
        return half_pairs(e, form, operands);
    }
    let mut operands: SmallVec<[Value; 3]> = operands.into();
    if form.ftz {
        operands.iter_mut().for_each(|value| *value = flush(e, *value, form.ty));
    }
    let value = float_value(e, form, &operands);
    match observed && may_be_any_nan(form) {
        true => canonical_nan(e, value, form.ty),
        false => value,
    }
}

/// The result of an operation on single numbers that are flushed already.
pub(super) fn float_value(e: &mut Emitter<'_>, form: FloatForm, operands: &[Value]) -> Value {
    let ty = form.ty;
    let value = match form.op {
        FloatOp::Negate => return flip_sign(e, operands[0], ty),
        FloatOp::Absolute => return clear_sign(e, operands[0], ty),
        FloatOp::CopySign => return e.ins().fcopysign(operands[1], operands[0]),
        FloatOp::Minimum(variant) => return min_max(e, operands, ty, variant, true),
        FloatOp::Maximum(variant) => return min_max(e, operands, ty, variant, false),
        _ if ty.is_half() => return half_arithmetic(e, form, operands),
        _ if form.rounding != Rounding::Nearest => rounded(e, form, operands),
        _ => nearest(e, form.op, ty, operands),
    };
    let value = if form.ftz { flush(e, value, ty) } else { value };
    match form.clamp {
        Clamp::Saturate => saturate(e, value),
        Clamp::Relu | Clamp::None => value,
    }
}

fn nearest(e: &mut Emitter<'_>, op: FloatOp, ty: ScalarType, operands: &[Value]) -> Value {
    let a = operands[0];
    match op {
        FloatOp::Add => e.ins().fadd(a, operands[1]),
        FloatOp::Sub => e.ins().fsub(a, operands[1]),
        FloatOp::Multiply => e.ins().fmul(a, operands[1]),
        FloatOp::FusedMultiplyAdd => e.ins().fma(a, operands[1], operands[2]),
        FloatOp::Divide => e.ins().fdiv(a, operands[1]),
        FloatOp::SquareRoot => e.ins().sqrt(a),
        FloatOp::Reciprocal => reciprocal(e, a, ty),
        FloatOp::ReciprocalSquareRoot => reciprocal_square_root(e, a, ty),
        FloatOp::GrossReciprocal => gross(e, a, false),
        FloatOp::GrossReciprocalSquareRoot => gross(e, a, true),
        FloatOp::Sine => e.helper(Helper::Sine, &[a]),
        FloatOp::Cosine => e.helper(Helper::Cosine, &[a]),
        FloatOp::Log2 => e.helper(Helper::Log2, &[a]),
        FloatOp::Exp2 => e.helper(Helper::Exp2, &[a]),
        FloatOp::Tanh => e.helper(Helper::Tanh, &[a]),
        FloatOp::Minimum(_) | FloatOp::Maximum(_) => unreachable!("lowered as choices"),
        FloatOp::Negate | FloatOp::Absolute | FloatOp::CopySign => {
            unreachable!("lowered as operations on the sign")
        }
    }
}

fn reciprocal(e: &mut Emitter<'_>, a: Value, ty: ScalarType) -> Value {
    let one = if ty == ScalarType::F32 { e.f32(1.0) } else { e.f64(1.0) };
    e.ins().fdiv(one, a)
}

fn reciprocal_square_root(e: &mut Emitter<'_>, a: Value, ty: ScalarType) -> Value {
    let one = e.f64(1.0);
    if ty == ScalarType::F64 {
        let root = e.ins().sqrt(a);
        return e.ins().fdiv(one, root);
    }
    let wide = e.ins().fpromote(types::F64, a);
    let root = e.ins().sqrt(wide);
    let inverse = e.ins().fdiv(one, root);
    e.ins().fdemote(types::F32, inverse)
}

/// A reciprocal (of the root) of which only the upper half is given, for only the upper half of
/// the operand.
fn gross(e: &mut Emitter<'_>, a: Value, root: bool) -> Value {
    let high = upper_half(e, a);
    let mut divisor = flush(e, high, ScalarType::F64);
    if root {
        divisor = e.ins().sqrt(divisor);
    }
    let one = e.f64(1.0);
    let inverse = e.ins().fdiv(one, divisor);
    let inverse = flush(e, inverse, ScalarType::F64);
    // Rounding to nearest makes the result a better start for what follows; infinities have no
    // lower half.
    let bits = e.cast(inverse, types::I64);
    let rounded = e.ins().iadd_imm_s(bits, 1 << 31);
    upper_half(e, rounded)
}

fn upper_half(e: &mut Emitter<'_>, value: Value) -> Value {
    let bits = e.cast(value, types::I64);
    let mask = e.int(types::I64, !0 << 32);
    let high = e.ins().band(bits, mask);
    e.cast(high, types::F64)
}

/// An operation with one of the other rounding modes, which the host's instructions do not
/// offer one by one.
fn rounded(e: &mut Emitter<'_>, form: FloatForm, operands: &[Value]) -> Value {
    let op = rounded_op(form.op);
    let (integer, helper) = match form.ty {
        ScalarType::F32 => (types::I32, Helper::RoundedF32),
        _ => (types::I64, Helper::RoundedF64),
    };
    let zero = e.int(integer, 0);
    let mut bits = [zero; 3];
    for (bits, &operand) in bits.iter_mut().zip(operands) {
        *bits = e.cast(operand, integer);
    }
    let op = e.int(types::I32, op as i64);
    let mode = e.int(types::I32, form.rounding as i64);
    let result = e.helper(helper, &[bits[0], bits[1], bits[2], op, mode]);
    e.cast(result, machine_type(form.ty))
}

/// To [0, 1], and NaN to 0.
pub(super) fn saturate(e: &mut Emitter<'_>, value: Value) -> Value {
    let (zero, one) = match e.type_of(value) {
        types::F32 => (e.f32(0.0), e.f32(1.0)),
        _ => (e.f64(0.0), e.f64(1.0)),
    };
    let positive = e.ins().fcmp(FloatCC::GreaterThan, value, zero);
    let value = e.ins().select(positive, value, zero);
    let small = e.ins().fcmp(FloatCC::LessThan, value, one);
    e.ins().select(small, value, one)
}

/// Subnormal numbers as zeros of their sign.
pub(super) fn flush(e: &mut Emitter<'_>, value: Value, ty: ScalarType) -> Value {
    let (integer, exponent) = (integer_type(ty.bits()), infinity(ty));
    let bits = e.cast(value, integer);
    let exponent = e.int(integer, exponent as i64);
    let exponent = e.ins().band(bits, exponent);
    let small = e.ins().icmp_imm_u(IntCC::Equal, exponent, 0);
    let sign = e.int(integer, sign_bit(ty) as i64);
    let zero = e.ins().band(bits, sign);
    let flushed = e.ins().select(small, zero, bits);
    e.cast(flushed, machine_type(ty))
}

fn flip_sign(e: &mut Emitter<'_>, value: Value, ty: ScalarType) -> Value {
    if !ty.is_half() {
        return e.ins().fneg(value);
    }
    let sign = e.int(types::I16, sign_bit(ty) as i64);
    e.ins().bxor(value, sign)
}

fn clear_sign(e: &mut Emitter<'_>, value: Value, ty: ScalarType) -> Value {
    if !ty.is_half() {
        return e.ins().fabs(value);
    }
    let magnitude = e.int(types::I16, !sign_bit(ty) as i64);
    e.ins().band(value, magnitude)
}

/// Minimum or maximum. Zeros are ordered by their signs; NaN loses, or wins where the variant
/// says so.
fn min_max(
    e: &mut Emitter<'_>,
    operands: &[Value],
    ty: ScalarType,
    variant: MinMax,
    minimum: bool,
) -> Value {
    let integer = integer_type(ty.bits());
    let sign = e.int(integer, sign_bit(ty) as i64);
    let original = [operands[0], operands[1]].map(|value| e.cast(value, integer));
    let bits = match variant.xor_sign {
        true => original.map(|value| e.ins().band_not(value, sign)),
        false => original,
    };
    let [a, b] = bits;
    let [x, y] = bits.map(|value| match ty.is_half() {
        true => widen_half(e, value, ty),
        false => e.cast(value, machine_type(ty)),
    });
    let (first, second) = match minimum {
        true => (FloatCC::LessThan, FloatCC::GreaterThan),
        false => (FloatCC::GreaterThan, FloatCC::LessThan),
    };
    let takes_a = e.ins().fcmp(first, x, y);
    let takes_b = e.ins().fcmp(second, x, y);
    let ordered = e.ins().fcmp(FloatCC::Ordered, x, y);
    // Equal numbers differ in the signs of zeros only.
    let equal = match minimum {
        true => e.ins().bor(a, b),
        false => e.ins().band(a, b),
    };
    let canonical = e.int(integer, canonical_nan_bits(ty) as i64);
    let unordered = if variant.nan {
        canonical
    } else {
        let a_is_number = e.ins().fcmp(FloatCC::Ordered, x, x);
        let b_is_number = e.ins().fcmp(FloatCC::Ordered, y, y);
        let b_or_nan = e.ins().select(b_is_number, b, canonical);
        e.ins().select(a_is_number, a, b_or_nan)
    };
    let rest = e.ins().select(ordered, equal, unordered);
    let rest = e.ins().select(takes_b, b, rest);
    let mut result = e.ins().select(takes_a, a, rest);
    if variant.xor_sign {
        let signs = e.ins().bxor(original[0], original[1]);
        let signs = e.ins().band(signs, sign);
        result = e.ins().bor(result, signs);
    }
    e.cast(result, machine_type(ty))
}

/// Whether the host may give another NaN than the GPU, which has a single one for the arithmetic of
/// 32 bits only.
fn may_be_any_nan(form: FloatForm) -> bool {
    let arithmetic = !matches!(
        form.op,
        FloatOp::Negate
            | FloatOp::Absolute
            | FloatOp::CopySign
            | FloatOp::Minimum(_)
            | FloatOp::Maximum(_)
    );
    form.ty == ScalarType::F32 && arithmetic && form.clamp == Clamp::None
}

/// NaN as the one that the hardware gives.
pub(super) fn canonical_nan(e: &mut Emitter<'_>, value: Value, ty: ScalarType) -> Value {
    let nan = e.constant(ty, canonical_nan_bits(ty));
    let is_number = e.ins().fcmp(FloatCC::Ordered, value, value);
    e.ins().select(is_number, value, nan)
}
