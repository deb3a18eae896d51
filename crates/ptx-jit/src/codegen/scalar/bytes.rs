//! Conversion between pairs of 8-bit floating-point numbers and wider ones.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{Clamp, ConvertBytesForm, ScalarType};

use super::half::{clamp, half_at, join_halves, narrow_to_half, widen_half};
use crate::abi::Helper;
use crate::codegen::emitter::Emitter;
use crate::runtime::Format;

/// A pair of numbers as one of another format.
pub(super) fn convert_bytes(
    e: &mut Emitter<'_>,
    form: ConvertBytesForm,
    operands: &[Value],
) -> Value {
    match form.to {
        ScalarType::F16x2 => bytes_to_halves(e, operands, form),
        _ => numbers_to_bytes(e, operands, form),
    }
}

fn bytes_to_halves(e: &mut Emitter<'_>, operands: &[Value], form: ConvertBytesForm) -> Value {
    let pair = operands[0];
    let [low, high] = [0, 8].map(|shift| {
        let byte = e.ins().ushr_imm_u(pair, shift);
        let byte = e.ins().band_imm_u(byte, 255);
        let byte = e.resize(byte, types::I32, false);
        let format = e.int(types::I32, Format::of(form.from) as i64);
        let number = e.helper(Helper::ByteToF32, &[byte, format]);
        let number = rectified(e, number, form);
        narrow_to_half(e, number, ScalarType::F16)
    });
    join_halves(e, low, high)
}

fn numbers_to_bytes(e: &mut Emitter<'_>, operands: &[Value], form: ConvertBytesForm) -> Value {
    let [low, high] = match form.from {
        ScalarType::F32 => [1, 0].map(|index| operands[index]),
        _ => {
            let pair = operands[0];
            [0, 16].map(|shift| {
                let half = half_at(e, pair, shift);
                widen_half(e, half, ScalarType::F16)
            })
        }
    };
    let [low, high] = [low, high].map(|number| {
        let number = rectified(e, number, form);
        let format = e.int(types::I32, Format::of(form.to) as i64);
        e.helper(Helper::F32ToByte, &[number, format])
    });
    let high = e.ins().ishl_imm_u(high, 8);
    let pair = e.ins().bor(low, high);
    e.ins().ireduce(types::I16, pair)
}

fn rectified(e: &mut Emitter<'_>, number: Value, form: ConvertBytesForm) -> Value {
    if form.relu { clamp(e, number, Clamp::Relu) } else { number }
}
