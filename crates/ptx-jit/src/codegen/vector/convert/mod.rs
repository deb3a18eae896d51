//! Conversion between number types.

mod float;
mod integer;

use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;

use super::arrays::{LaneFunction, call};
use super::float::{flush, saturate};
use super::lanes::Lanes;
use super::shape::{cast, vector_type, widen};
use crate::runtime::{ConvertCall, Format};
use float::float_to_float;
use integer::{float_to_integer, integer_to_float, integer_to_integer};
use ptx::{Clamp, ConvertBytesForm, ConvertForm, Rounding, ScalarType};

pub(super) fn convert(
    b: &mut FunctionBuilder<'_>,
    form: ConvertForm,
    operands: &[Lanes],
) -> Option<Lanes> {
    if form.to.is_half_pair() {
        // The first source goes to the upper half.
        let element = ConvertForm { to: form.to.element(), ..form };
        let [high, low] = [0, 1].map(|index| float_to_float(b, element, &operands[index]));
        return Some(join_halves(b, &low, &high));
    }
    let lanes = &operands[0];
    Some(match (form.from.is_float(), form.to.is_float()) {
        (false, false) => integer_to_integer(b, form, lanes),
        (false, true) => integer_to_float(b, form, lanes),
        (true, false) => float_to_integer(b, form, lanes),
        (true, true) => float_to_float(b, form, lanes),
    })
}

pub(super) fn convert_bytes(
    b: &mut FunctionBuilder<'_>,
    form: ConvertBytesForm,
    operands: &[Lanes],
) -> Lanes {
    let (from, to) = (Format::of(form.from), Format::of(form.to));
    let parameter = ConvertCall::parameter(from, to, Rounding::Nearest, form.relu);
    let (function, result) = match (form.to, form.from) {
        (ScalarType::F16x2, _) => (ConvertCall::FromBytes, ScalarType::B32),
        (_, ScalarType::F32) => (ConvertCall::ToBytes, ScalarType::B16),
        _ => (ConvertCall::HalvesToBytes, ScalarType::B16),
    };
    let all: Vec<&Lanes> = operands.iter().collect();
    call(b, LaneFunction::Convert(function), parameter, &all, result)
}

fn join_halves(b: &mut FunctionBuilder<'_>, low: &Lanes, high: &Lanes) -> Lanes {
    let (low, high) = (widen(b, low, false), widen(b, high, false));
    low.zip(&high, |low, high| {
        let high = b.ins().ishl_imm_u(high, 16);
        b.ins().bor(low, high)
    })
}

/// Values of the result's type, clamped to [0, 1] if the form says so.
fn saturated(b: &mut FunctionBuilder<'_>, form: ConvertForm, lanes: &Lanes) -> Lanes {
    if form.clamp != Clamp::Saturate {
        return lanes.clone();
    }
    if !form.to.is_half() {
        return lanes.map(|value| saturate(b, value));
    }
    let wide = widen_half(b, lanes, form.to);
    let clamped = wide.map(|value| saturate(b, value));
    narrow_to_half(b, &clamped, form.to)
}

/// Subnormal numbers of 32 bits as zeros, if the form says so.
fn flushed(b: &mut FunctionBuilder<'_>, form: ConvertForm, lanes: &Lanes, ty: ScalarType) -> Lanes {
    match form.ftz && ty == ScalarType::F32 {
        true => lanes.map(|value| flush(b, value, ty)),
        false => lanes.clone(),
    }
}

fn round_to_integral(b: &mut FunctionBuilder<'_>, value: Value, rounding: Rounding) -> Value {
    match rounding {
        Rounding::Nearest => b.ins().nearest(value),
        Rounding::TowardZero => b.ins().trunc(value),
        Rounding::Down => b.ins().floor(value),
        Rounding::Up => b.ins().ceil(value),
    }
}

/// Halves as numbers of 32 bits.
pub(super) fn widen_half(b: &mut FunctionBuilder<'_>, lanes: &Lanes, ty: ScalarType) -> Lanes {
    if ty == ScalarType::BF16 {
        let words = widen(b, lanes, false);
        let bits = words.map(|value| b.ins().ishl_imm_u(value, 16));
        return cast(b, &bits, types::F32X4);
    }
    call(b, LaneFunction::Convert(ConvertCall::HalfToFloat), 0, &[lanes], ScalarType::F32)
}

/// Numbers of 32 bits rounded to the nearest halves; NaN becomes the canonical one.
pub(super) fn narrow_to_half(b: &mut FunctionBuilder<'_>, lanes: &Lanes, ty: ScalarType) -> Lanes {
    let (from, to) = (Format::F32, Format::of(ty));
    let parameter = ConvertCall::parameter(from, to, Rounding::Nearest, false);
    call(b, LaneFunction::Convert(ConvertCall::FloatToHalf), parameter, &[lanes], ty)
}

/// A conversion in a rounding mode that the host's instructions do not offer one by one.
fn converted(b: &mut FunctionBuilder<'_>, form: ConvertForm, lanes: &Lanes) -> Lanes {
    debug_assert_eq!(b.func.dfg.value_type(lanes.values[0]), vector_type(form.from));
    let (from, to) = (Format::of(form.from), Format::of(form.to));
    let parameter = ConvertCall::parameter(from, to, form.rounding, false);
    call(b, LaneFunction::Convert(ConvertCall::FloatToFloat), parameter, &[lanes], form.to)
}
