//! Conversion between number types.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;

use super::Lanes;
use super::arrays::{Call, call};
use super::float::{canonical, flush, saturate};
use super::integer::extreme;
use super::make::{constant, vector};
use super::mask::pick;
use super::shape::{bitcast, cast, pairs, resize, shuffle_words, vector_type, widen};
use crate::exec::runtime::{ConvertCall, Format};
use crate::ptx::{Clamp, ConvertBytesForm, ConvertForm, Rounding, ScalarType};

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
    call(b, Call::Convert(function), parameter, &all, result)
}

fn join_halves(b: &mut FunctionBuilder<'_>, low: &Lanes, high: &Lanes) -> Lanes {
    let (low, high) = (widen(b, low, false), widen(b, high, false));
    low.zip(&high, |low, high| {
        let high = b.ins().ishl_imm_u(high, 16);
        b.ins().bor(low, high)
    })
}

fn integer_to_integer(b: &mut FunctionBuilder<'_>, form: ConvertForm, lanes: &Lanes) -> Lanes {
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

fn integer_to_float(b: &mut FunctionBuilder<'_>, form: ConvertForm, lanes: &Lanes) -> Lanes {
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
        call(b, Call::Convert(ConvertCall::IntegerToFloat), parameter, &[&lanes], to)
    } else if from.bits() == 64 {
        let format = Format::of(direct);
        let parameter = ConvertCall::parameter(Format::F64, format, form.rounding, signed);
        let function = Call::Convert(ConvertCall::IntegerToNearest);
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

fn float_to_integer(b: &mut FunctionBuilder<'_>, form: ConvertForm, lanes: &Lanes) -> Lanes {
    let ConvertForm { to, from, rounding, .. } = form;
    let signed = to.is_signed();
    let mut lanes = flushed(b, form, lanes, from);
    let mut have = from;
    if from.is_half() {
        lanes = widen_half(b, &lanes, from);
        have = ScalarType::F32;
    }
    let word = if signed { ScalarType::S32 } else { ScalarType::U32 };
    let parameter = ConvertCall::parameter(Format::of(have), Format::F64, rounding, signed);
    let integer = if to.bits() == 64 {
        let function = Call::Convert(ConvertCall::FloatToInteger);
        return call(b, function, parameter, &[&lanes], to);
    } else if have == ScalarType::F64 {
        call(b, Call::Convert(ConvertCall::FloatToWord), parameter, &[&lanes], word)
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

fn float_to_float(b: &mut FunctionBuilder<'_>, form: ConvertForm, lanes: &Lanes) -> Lanes {
    let ConvertForm { to, from, .. } = form;
    let lanes = flushed(b, form, lanes, from);
    if from == to && !form.integral && form.clamp == Clamp::None && !form.finite {
        return lanes;
    }
    let number = match (from, to) {
        _ if from == to => same_type(b, form, &lanes),
        (ScalarType::F32, ScalarType::F64) => promote(b, &lanes),
        (ScalarType::F16 | ScalarType::BF16, _) => {
            let wide = widen_half(b, &lanes, from);
            match to {
                ScalarType::F32 => wide,
                ScalarType::F64 => promote(b, &wide),
                _ => {
                    let form = ConvertForm { from: ScalarType::F32, ..form };
                    let half = float_to_half(b, form, &wide);
                    // It has been clamped; once more changes nothing.
                    return saturated(b, form, &half);
                }
            }
        }
        (_, ScalarType::F16 | ScalarType::BF16) => return float_to_half(b, form, &lanes),
        _ if form.rounding == Rounding::Nearest => demote(b, &lanes),
        _ => converted(b, form, &lanes),
    };
    let mut number = if to == ScalarType::F32 { flushed(b, form, &number, to) } else { number };
    // A bf16 is the upper half of a 32-bit number, a NaN too.
    if to == ScalarType::F32 && from != ScalarType::BF16 {
        number = number.map(|value| canonical(b, value, to));
    }
    saturated(b, form, &number)
}

fn promote(b: &mut FunctionBuilder<'_>, lanes: &Lanes) -> Lanes {
    let halves = lanes.values.iter().flat_map(|&value| {
        let upper = shuffle_words(b, value, value, [2, 3, 2, 3]);
        let upper = bitcast(b, upper, types::F32X4);
        [value, upper].map(|value| b.ins().fvpromote_low(value))
    });
    Lanes { values: halves.collect() }
}

fn demote(b: &mut FunctionBuilder<'_>, lanes: &Lanes) -> Lanes {
    let words = pairs(lanes, |low, high| {
        let (low, high) = (b.ins().fvdemote(low), b.ins().fvdemote(high));
        shuffle_words(b, low, high, [0, 1, 4, 5])
    });
    cast(b, &words, types::F32X4)
}

/// Rounding to a whole number without a change of type; halves pass through 32 bits.
fn same_type(b: &mut FunctionBuilder<'_>, form: ConvertForm, lanes: &Lanes) -> Lanes {
    if !form.integral {
        return lanes.clone();
    }
    if !form.from.is_half() {
        return lanes.map(|value| round_to_integral(b, value, form.rounding));
    }
    let wide = widen_half(b, lanes, form.from);
    let whole = wide.map(|value| round_to_integral(b, value, form.rounding));
    narrow_to_half(b, &whole, form.to)
}

fn float_to_half(b: &mut FunctionBuilder<'_>, form: ConvertForm, lanes: &Lanes) -> Lanes {
    let lanes = match form.clamp {
        Clamp::Relu => lanes.map(|value| relu(b, value)),
        _ => lanes.clone(),
    };
    let half = match form.rounding == Rounding::Nearest && form.from == ScalarType::F32 {
        true => narrow_to_half(b, &lanes, form.to),
        false => converted(b, form, &lanes),
    };
    let half = if form.finite { largest_finite(b, &half, form.to) } else { half };
    saturated(b, form, &half)
}

/// Negative numbers as 0; NaN stays.
fn relu(b: &mut FunctionBuilder<'_>, value: Value) -> Value {
    let ty = b.func.dfg.value_type(value);
    let zero = vector(b, ty, 0);
    let negative = b.ins().fcmp(FloatCC::LessThanOrEqual, value, zero);
    pick(b, negative, zero, value)
}

/// Infinity as the largest finite half of its sign.
fn largest_finite(b: &mut FunctionBuilder<'_>, half: &Lanes, ty: ScalarType) -> Lanes {
    let infinity = if ty == ScalarType::F16 { 0x7c00 } else { 0x7f80 };
    let infinity = vector(b, types::I16X8, infinity);
    let mask = vector(b, types::I16X8, 0x7fff);
    half.map(|half| {
        let magnitude = b.ins().band(half, mask);
        let infinite = b.ins().icmp(IntCC::Equal, magnitude, infinity);
        // A mask is -1 where it holds.
        b.ins().iadd(half, infinite)
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
    call(b, Call::Convert(ConvertCall::HalfToFloat), 0, &[lanes], ScalarType::F32)
}

/// Numbers of 32 bits rounded to the nearest halves; NaN becomes the canonical one.
pub(super) fn narrow_to_half(b: &mut FunctionBuilder<'_>, lanes: &Lanes, ty: ScalarType) -> Lanes {
    let (from, to) = (Format::F32, Format::of(ty));
    let parameter = ConvertCall::parameter(from, to, Rounding::Nearest, false);
    call(b, Call::Convert(ConvertCall::FloatToHalf), parameter, &[lanes], ty)
}

/// A conversion in a rounding mode that the host's instructions do not offer one by one.
fn converted(b: &mut FunctionBuilder<'_>, form: ConvertForm, lanes: &Lanes) -> Lanes {
    debug_assert_eq!(b.func.dfg.value_type(lanes.values[0]), vector_type(form.from));
    let (from, to) = (Format::of(form.from), Format::of(form.to));
    let parameter = ConvertCall::parameter(from, to, form.rounding, false);
    call(b, Call::Convert(ConvertCall::FloatToFloat), parameter, &[lanes], form.to)
}
