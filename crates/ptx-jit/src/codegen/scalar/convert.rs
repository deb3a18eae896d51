//! Conversion between number types.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{Clamp, ConvertForm, Rounding, ScalarType};

use super::float::{canonical_nan, flush, saturate};
use super::half::{clamp, join_halves, narrow_to_half, widen_half};
use crate::abi::Helper;
use crate::codegen::emitter::Emitter;
use crate::codegen::types::{integer_type, machine_type};
use crate::runtime::Format;

/// The number that an operand is as one of another type.
pub(super) fn convert(e: &mut Emitter<'_>, form: ConvertForm, operands: &[Value]) -> Value {
    if form.to.is_half_pair() {
        // The first source goes to the upper half.
        let element = ConvertForm { to: form.to.element(), ..form };
        let [high, low] = [0, 1].map(|index| {
            let value = operands[index];
            float_to_float(e, element, value)
        });
        return join_halves(e, low, high);
    }
    let value = operands[0];
    match (form.from.is_float(), form.to.is_float()) {
        (false, false) => integer_to_integer(e, form, value),
        (false, true) => integer_to_float(e, form, value),
        (true, false) => float_to_integer(e, form, value),
        (true, true) => float_to_float(e, form, value),
    }
}

fn integer_to_integer(e: &mut Emitter<'_>, form: ConvertForm, value: Value) -> Value {
    let ConvertForm { to, from, .. } = form;
    let mut value = e.resize(value, types::I64, from.is_signed());
    if form.clamp == Clamp::Saturate {
        value = clamp_integer(e, value, from.is_signed(), to);
    }
    e.resize(value, integer_type(to.bits()), to.is_signed())
}

/// A 64-bit integer, clamped to the range of a type.
fn clamp_integer(e: &mut Emitter<'_>, value: Value, signed: bool, to: ScalarType) -> Value {
    let unused = 64 - to.bits();
    let highest = match to.is_signed() {
        true => i64::MAX >> unused,
        false => (u64::MAX >> unused) as i64,
    };
    let lowest = if to.is_signed() { i64::MIN >> unused } else { 0 };
    let (highest, lowest) = (e.int(types::I64, highest), e.int(types::I64, lowest));
    if !signed {
        return e.choose_integer(IntCC::UnsignedLessThan, value, highest);
    }
    let raised = e.choose_integer(IntCC::SignedGreaterThan, value, lowest);
    match to {
        // No signed number is above the range.
        ScalarType::U64 => raised,
        _ => e.choose_integer(IntCC::SignedLessThan, raised, highest),
    }
}

fn integer_to_float(e: &mut Emitter<'_>, form: ConvertForm, value: Value) -> Value {
    let ConvertForm { to, from, .. } = form;
    let signed = from.is_signed();
    // For f16, all integers that are not too large for it are exact in between.
    let direct = if to == ScalarType::F16 { ScalarType::F32 } else { to };
    let value = if form.rounding == Rounding::Nearest && to != ScalarType::BF16 {
        let width = if from.bits() == 64 { types::I64 } else { types::I32 };
        let value = e.resize(value, width, signed);
        let number = match signed {
            true => e.ins().fcvt_from_sint(machine_type(direct), value),
            false => e.ins().fcvt_from_uint(machine_type(direct), value),
        };
        if direct == to { number } else { narrow_to_half(e, number, to) }
    } else {
        let value = e.resize(value, types::I64, signed);
        let signed = e.int(types::I32, i64::from(signed));
        let arguments = [value, signed];
        converted(e, Helper::IntegerToFloat, &arguments, to, form.rounding)
    };
    saturated(e, form, value)
}

fn float_to_integer(e: &mut Emitter<'_>, form: ConvertForm, value: Value) -> Value {
    let ConvertForm { to, from, .. } = form;
    let mut value = value;
    if form.ftz && from == ScalarType::F32 {
        value = flush(e, value, from);
    }
    if from.is_half() {
        value = widen_half(e, value, from);
    }
    let whole = round_to_integral(e, value, form.rounding);
    let width = if to.bits() == 64 { types::I64 } else { types::I32 };
    let mut integer = match to.is_signed() {
        true => e.ins().fcvt_to_sint_sat(width, whole),
        false => e.ins().fcvt_to_uint_sat(width, whole),
    };
    if to.bits() < 32 {
        let wide = e.resize(integer, types::I64, to.is_signed());
        let clamped = clamp_integer(e, wide, to.is_signed(), to);
        integer = e.resize(clamped, integer_type(to.bits()), false);
    }
    if from != ScalarType::F64 && to.bits() < 64 {
        return integer;
    }
    // NaN gives 0 between narrow types, and the highest bit alone else (PTX ISA, `cvt`).
    let is_nan = e.ins().fcmp(FloatCC::Unordered, whole, whole);
    let highest_bit = e.int(integer_type(to.bits()), (1_u64 << (to.bits() - 1)) as i64);
    e.ins().select(is_nan, highest_bit, integer)
}

fn float_to_float(e: &mut Emitter<'_>, form: ConvertForm, value: Value) -> Value {
    let ConvertForm { to, from, .. } = form;
    let mut value = value;
    if form.ftz && from == ScalarType::F32 {
        value = flush(e, value, from);
    }
    if from == to && !form.integral && form.clamp == Clamp::None && !form.finite {
        return value;
    }
    let mut value = match (from, to) {
        _ if from == to => same_type(e, form, value),
        (ScalarType::F32, ScalarType::F64) => e.ins().fpromote(types::F64, value),
        (ScalarType::F16 | ScalarType::BF16, _) => half_to_float(e, form, value),
        (_, ScalarType::F16 | ScalarType::BF16) => return float_to_half(e, form, value),
        _ if form.rounding == Rounding::Nearest => e.ins().fdemote(types::F32, value),
        _ => converted_float(e, form, value),
    };
    if form.ftz && to == ScalarType::F32 {
        value = flush(e, value, to);
    }
    // A bf16 is the upper half of a 32-bit number, a NaN too.
    if to == ScalarType::F32 && from != ScalarType::BF16 {
        value = canonical_nan(e, value, to);
    }
    saturated(e, form, value)
}

/// Rounding to a whole number without a change of type; halves pass through 32 bits.
fn same_type(e: &mut Emitter<'_>, form: ConvertForm, value: Value) -> Value {
    if !form.integral {
        return value;
    }
    if !form.from.is_half() {
        return round_to_integral(e, value, form.rounding);
    }
    let wide = widen_half(e, value, form.from);
    let whole = round_to_integral(e, wide, form.rounding);
    narrow_to_half(e, whole, form.to)
}

fn half_to_float(e: &mut Emitter<'_>, form: ConvertForm, value: Value) -> Value {
    let wide = widen_half(e, value, form.from);
    match form.to {
        ScalarType::F32 => wide,
        ScalarType::F64 => e.ins().fpromote(types::F64, wide),
        _ => float_to_half(e, ConvertForm { from: ScalarType::F32, ..form }, wide),
    }
}

fn float_to_half(e: &mut Emitter<'_>, form: ConvertForm, value: Value) -> Value {
    let nearest = form.rounding == Rounding::Nearest && form.from == ScalarType::F32;
    let value = if form.clamp == Clamp::Relu { clamp(e, value, Clamp::Relu) } else { value };
    let half = match nearest {
        true => narrow_to_half(e, value, form.to),
        false => converted_float(e, form, value),
    };
    let half = if form.finite { largest_finite(e, half, form.to) } else { half };
    saturated(e, form, half)
}

/// Infinity as the largest finite half of its sign.
fn largest_finite(e: &mut Emitter<'_>, half: Value, ty: ScalarType) -> Value {
    let infinity = if ty == ScalarType::F16 { 0x7c00 } else { 0x7f80 };
    let magnitude = e.ins().band_imm_u(half, 0x7fff);
    let infinite = e.ins().icmp_imm_u(IntCC::Equal, magnitude, infinity);
    let largest = e.ins().iadd_imm_s(half, -1);
    e.ins().select(infinite, largest, half)
}

/// The value of a result type, clamped to [0, 1] if the form says so.
fn saturated(e: &mut Emitter<'_>, form: ConvertForm, value: Value) -> Value {
    if form.clamp != Clamp::Saturate {
        return value;
    }
    if !form.to.is_half() {
        return saturate(e, value);
    }
    let wide = widen_half(e, value, form.to);
    let clamped = saturate(e, wide);
    narrow_to_half(e, clamped, form.to)
}

fn round_to_integral(e: &mut Emitter<'_>, value: Value, rounding: Rounding) -> Value {
    match rounding {
        Rounding::Nearest => e.ins().nearest(value),
        Rounding::TowardZero => e.ins().trunc(value),
        Rounding::Down => e.ins().floor(value),
        Rounding::Up => e.ins().ceil(value),
    }
}

fn converted_float(e: &mut Emitter<'_>, form: ConvertForm, value: Value) -> Value {
    let bits = e.cast(value, integer_type(form.from.bits()));
    let bits = e.resize(bits, types::I64, false);
    let from = e.int(types::I32, Format::of(form.from) as i64);
    converted(e, Helper::FloatToFloat, &[bits, from], form.to, form.rounding)
}

/// The result of one of the runtime's conversions, which give the bits of a number of a format.
fn converted(
    e: &mut Emitter<'_>,
    helper: Helper,
    arguments: &[Value; 2],
    to: ScalarType,
    rounding: Rounding,
) -> Value {
    let format = e.int(types::I32, Format::of(to) as i64);
    let mode = e.int(types::I32, rounding as i64);
    let bits = e.helper(helper, &[arguments[0], arguments[1], format, mode]);
    let bits = e.resize(bits, integer_type(to.bits()), false);
    e.cast(bits, machine_type(to))
}
