//! Conversion from and to integers.

use cranelift_codegen::ir::{InstBuilder, types};
use cranelift_frontend::FunctionBuilder;
use ptx::{Clamp, ConvertForm, Rounding, ScalarType};

use super::{flushed, narrow_to_half, round_to_integral, saturated, widen_half};
use crate::codegen::vector::arrays::{LaneFunction, call};
use crate::codegen::vector::integer::extreme;
use crate::codegen::vector::lanes::Lanes;
use crate::codegen::vector::make::constant;
use crate::codegen::vector::shape::{resize, shuffle_words};
use crate::runtime::{ConvertCall, Format};

pub(super) fn integer_to_integer(
    b: &mut FunctionBuilder<'_>,
    form: ConvertForm,
    lanes: &Lanes,
) -> Lanes {
    let ConvertForm { to, from, .. } = form;
    if form.clamp != Clamp::Saturate {
        return resize(b, lanes, from, to);
    }
    let (wide, lanes) = at_least_16_bits(b, lanes, from);
    let clamped = clamp_integer(b, &lanes, wide, to);
    resize(b, &clamped, wide, to)
}

/// 8-bit integers as 16-bit ones, so that all bits count.
fn at_least_16_bits(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    ty: ScalarType,
) -> (ScalarType, Lanes) {
    if ty.bits() > 8 {
        return (ty, lanes.clone());
    }
    let wide = if ty.is_signed() { ScalarType::S16 } else { ScalarType::U16 };
    (wide, resize(b, lanes, ty, wide))
}

/// Integers clamped to what both types can hold.
fn clamp_integer(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    from: ScalarType,
    to: ScalarType,
) -> Lanes {
    let (signed, to_signed) = (from.is_signed(), to.is_signed());
    let value_bits = |ty: ScalarType| ty.bits() - u32::from(ty.is_signed());
    let mut lanes = lanes.clone();
    if signed && (!to_signed || to.bits() < from.bits()) {
        let lowest = if to_signed { u64::MAX << (to.bits() - 1) } else { 0 };
        let lowest = constant(b, lowest, from);
        lanes = extreme(b, &lanes, &lowest, true, false);
    }
    if value_bits(to) < value_bits(from) {
        let highest = constant(b, u64::MAX >> (64 - value_bits(to)), from);
        lanes = extreme(b, &lanes, &highest, signed, true);
    }
    lanes
}

pub(super) fn integer_to_float(
    b: &mut FunctionBuilder<'_>,
    form: ConvertForm,
    lanes: &Lanes,
) -> Lanes {
    let ConvertForm { to, from, .. } = form;
    let signed = from.is_signed();
    let (long, word) = match signed {
        true => (ScalarType::S64, ScalarType::S32),
        false => (ScalarType::U64, ScalarType::U32),
    };
    // For f16, all integers that are not too large for it are exact in between.
    let direct = if to == ScalarType::F16 { ScalarType::F32 } else { to };
    let parameter = ConvertCall::parameter(Format::F64, Format::of(to), form.rounding, signed);
    let number = if form.rounding != Rounding::Nearest || to == ScalarType::BF16 {
        let lanes = resize(b, lanes, from, long);
        call(b, LaneFunction::Convert(ConvertCall::IntegerToFloat), parameter, &[&lanes], to)
    } else if from.bits() == 64 {
        let format = Format::of(direct);
        let parameter = ConvertCall::parameter(Format::F64, format, form.rounding, signed);
        let function = LaneFunction::Convert(ConvertCall::IntegerToNearest);
        let number = call(b, function, parameter, &[lanes], direct);
        from_single(b, form, &number, direct)
    } else {
        let words = resize(b, lanes, from, word);
        let number = match direct {
            ScalarType::F32 => words.map(|value| match signed {
                true => b.ins().fcvt_from_sint(types::F32X4, value),
                false => b.ins().fcvt_from_uint(types::F32X4, value),
            }),
            _ => words_to_doubles(b, &words, signed),
        };
        from_single(b, form, &number, direct)
    };
    saturated(b, form, &number)
}

/// Numbers of 32 bits as halves, if those are wanted.
fn from_single(
    b: &mut FunctionBuilder<'_>,
    form: ConvertForm,
    number: &Lanes,
    have: ScalarType,
) -> Lanes {
    if have == form.to { number.clone() } else { narrow_to_half(b, number, form.to) }
}

fn words_to_doubles(b: &mut FunctionBuilder<'_>, words: &Lanes, signed: bool) -> Lanes {
    let halves = words.values.iter().flat_map(|&value| {
        let upper = shuffle_words(b, value, value, [2, 3, 2, 3]);
        [value, upper].map(|value| match signed {
            true => {
                let wide = b.ins().swiden_low(value);
                b.ins().fcvt_from_sint(types::F64X2, wide)
            }
            false => {
                let wide = b.ins().uwiden_low(value);
                b.ins().fcvt_from_uint(types::F64X2, wide)
            }
        })
    });
    Lanes { values: halves.collect() }
}

pub(super) fn float_to_integer(
    b: &mut FunctionBuilder<'_>,
    form: ConvertForm,
    lanes: &Lanes,
) -> Lanes {
    let ConvertForm { to, from, rounding, .. } = form;
    let signed = to.is_signed();
    let mut lanes = flushed(b, form, lanes, from);
    let mut have = from;
    if from.is_half() {
        lanes = widen_half(b, &lanes, from);
        have = ScalarType::F32;
    }
    let word = if signed { ScalarType::S32 } else { ScalarType::U32 };
    let parameter = ConvertCall::parameter(Format::of(have), Format::F64, rounding, signed)
        | ConvertCall::width(to.bits());
    let integer = if to.bits() == 64 {
        let function = LaneFunction::Convert(ConvertCall::FloatToInteger);
        return call(b, function, parameter, &[&lanes], to);
    } else if have == ScalarType::F64 {
        call(b, LaneFunction::Convert(ConvertCall::FloatToWord), parameter, &[&lanes], word)
    } else {
        lanes.map(|value| {
            let whole = round_to_integral(b, value, rounding);
            match signed {
                true => b.ins().fcvt_to_sint_sat(types::I32X4, whole),
                false => b.ins().fcvt_to_uint_sat(types::I32X4, whole),
            }
        })
    };
    if to.bits() == 32 {
        return integer;
    }
    let clamped = clamp_integer(b, &integer, word, to);
    resize(b, &clamped, word, to)
}
