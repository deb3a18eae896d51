//! Conversion between pairs of 8-bit floating-point numbers and wider ones.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{Clamp, ConvertBytesForm, Instruction, ScalarType};

use super::function::Lowering;
use crate::abi::Helper;
use crate::runtime::Format;

impl Lowering<'_, '_> {
    pub(super) fn convert_bytes(&mut self, instruction: &Instruction, form: ConvertBytesForm) {
        let result = match form.to {
            ScalarType::F16x2 => self.bytes_to_halves(instruction, form),
            _ => self.numbers_to_bytes(instruction, form),
        };
        self.define(instruction, 0, result, ScalarType::untyped(form.to.bits()));
    }

    fn bytes_to_halves(&mut self, instruction: &Instruction, form: ConvertBytesForm) -> Value {
        let pair = self.source(instruction, 0, ScalarType::B16);
        let [low, high] = [0, 8].map(|shift| {
            let byte = self.builder.ins().ushr_imm_u(pair, shift);
            let byte = self.builder.ins().band_imm_u(byte, 255);
            let byte = self.resize(byte, types::I32, false);
            let format = self.int(types::I32, Format::of(form.from) as i64);
            let number = self.helper(Helper::ByteToF32, &[byte, format]);
            let number = self.rectified(number, form);
            self.narrow_to_half(number, ScalarType::F16)
        });
        self.join_halves(low, high)
    }

    fn numbers_to_bytes(&mut self, instruction: &Instruction, form: ConvertBytesForm) -> Value {
        let [low, high] = match form.from {
            ScalarType::F32 => [1, 0].map(|index| self.source(instruction, index, form.from)),
            _ => {
                let pair = self.source(instruction, 0, ScalarType::B32);
                [0, 16].map(|shift| {
                    let half = self.half_at(pair, shift);
                    self.widen_half(half, ScalarType::F16)
                })
            }
        };
        let [low, high] = [low, high].map(|number| {
            let number = self.rectified(number, form);
            let format = self.int(types::I32, Format::of(form.to) as i64);
            self.helper(Helper::F32ToByte, &[number, format])
        });
        let high = self.builder.ins().ishl_imm_u(high, 8);
        let pair = self.builder.ins().bor(low, high);
        self.builder.ins().ireduce(types::I16, pair)
    }

    fn rectified(&mut self, number: Value, form: ConvertBytesForm) -> Value {
        if form.relu { self.clamp(number, Clamp::Relu) } else { number }
    }
}
