//! Conversion between floating-point numbers.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;
use ptx::{Clamp, ConvertForm, Rounding, ScalarType};

use super::{converted, flushed, narrow_to_half, round_to_integral, saturated, widen_half};
use crate::codegen::vector::float::canonical;
use crate::codegen::vector::lanes::Lanes;
use crate::codegen::vector::make::vector;
use crate::codegen::vector::mask::pick;
use crate::codegen::vector::shape::{bitcast, cast, pairs, shuffle_words};

pub(super) fn float_to_float(
    b: &mut FunctionBuilder<'_>,
    form: ConvertForm,
    lanes: &Lanes,
) -> Lanes {
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
