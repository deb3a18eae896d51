//! Arithmetic of 16 bits: computed with 32 bits and rounded once more, which gives the exact result
//! but for `fma`.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{Clamp, FloatForm, FloatOp, ScalarType};
use smallvec::SmallVec;

use super::float::{float_value, flush, saturate};
use crate::abi::Helper;
use crate::codegen::emitter::Emitter;
use crate::codegen::types::machine_type;

/// An operation on both halves of packed pairs.
pub(super) fn half_pairs(e: &mut Emitter<'_>, form: FloatForm, pairs: &[Value]) -> Value {
    let element = FloatForm { ty: form.ty.element(), ..form };
    let [low, high] = [0, 16].map(|shift| {
        let mut operands: SmallVec<[Value; 3]> = SmallVec::new();
        for &pair in pairs {
            let value = half_at(e, pair, shift);
            operands.push(if form.ftz { flush(e, value, element.ty) } else { value });
        }
        float_value(e, element, &operands)
    });
    join_halves(e, low, high)
}

/// Arithmetic on halves, as their bits.
pub(super) fn half_arithmetic(e: &mut Emitter<'_>, form: FloatForm, operands: &[Value]) -> Value {
    let mut value = if form.op == FloatOp::FusedMultiplyAdd {
        let helper = match form.ty {
            ScalarType::F16 => Helper::FmaF16,
            _ => Helper::FmaBf16,
        };
        let wide = [0, 1, 2].map(|index| e.resize(operands[index], types::I32, false));
        let result = e.helper(helper, &wide);
        e.resize(result, types::I16, false)
    } else {
        let wide: Vec<Value> =
            operands.iter().map(|&operand| widen_half(e, operand, form.ty)).collect();
        let single = FloatForm { ty: ScalarType::F32, ftz: false, clamp: Clamp::None, ..form };
        let result = float_value(e, single, &wide);
        narrow_to_half(e, result, form.ty)
    };
    if form.ftz {
        value = flush(e, value, form.ty);
    }
    if form.clamp == Clamp::None {
        return value;
    }
    let wide = widen_half(e, value, form.ty);
    let clamped = clamp(e, wide, form.clamp);
    narrow_to_half(e, clamped, form.ty)
}

pub(super) fn clamp(e: &mut Emitter<'_>, value: Value, clamp: Clamp) -> Value {
    match clamp {
        Clamp::None => value,
        Clamp::Saturate => saturate(e, value),
        Clamp::Relu => {
            let zero = e.zero(e.type_of(value));
            let negative = e.ins().fcmp(FloatCC::LessThanOrEqual, value, zero);
            e.ins().select(negative, zero, value)
        }
    }
}

/// The half that begins at that bit of a pair.
pub(super) fn half_at(e: &mut Emitter<'_>, pair: Value, shift: i64) -> Value {
    let shifted = e.ins().ushr_imm_u(pair, shift);
    e.ins().ireduce(types::I16, shifted)
}

pub(super) fn join_halves(e: &mut Emitter<'_>, low: Value, high: Value) -> Value {
    let (low, high) = (e.resize(low, types::I32, false), e.resize(high, types::I32, false));
    let high = e.ins().ishl_imm_u(high, 16);
    e.ins().bor(low, high)
}

/// The bits of a half as a 32-bit number. A NaN keeps its sign and its payload.
pub(super) fn widen_half(e: &mut Emitter<'_>, half: Value, ty: ScalarType) -> Value {
    let bits = e.resize(half, types::I32, false);
    if ty == ScalarType::BF16 {
        let bits = e.ins().ishl_imm_u(bits, 16);
        return e.cast(bits, types::F32);
    }
    // In place of the wider number's exponent and fraction, the half is 2^112 times too small,
    // also if subnormal.
    let magnitude = e.ins().band_imm_u(bits, 0x7fff);
    let placed = e.ins().ishl_imm_u(magnitude, 13);
    let number = e.cast(placed, types::F32);
    let scale = e.f32(f32::from_bits((127 + 112) << 23));
    let scaled = e.ins().fmul(number, scale);
    let scaled = e.cast(scaled, types::I32);
    let special = e.ins().bor_imm_u(placed, 0x7f80_0000);
    let is_special = e.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, magnitude, 0x7c00);
    let magnitude = e.ins().select(is_special, special, scaled);
    let sign = e.ins().band_imm_u(bits, 0x8000);
    let sign = e.ins().ishl_imm_u(sign, 16);
    let bits = e.ins().bor(magnitude, sign);
    e.cast(bits, types::F32)
}

/// A 32-bit number rounded to the nearest half, as its bits; NaN becomes the canonical one.
pub(super) fn narrow_to_half(e: &mut Emitter<'_>, value: Value, ty: ScalarType) -> Value {
    debug_assert_eq!(machine_type(ty), types::I16);
    let helper = match ty {
        ScalarType::F16 => Helper::F32ToF16,
        _ => Helper::F32ToBf16,
    };
    let bits = e.helper(helper, &[value]);
    e.resize(bits, types::I16, false)
}
