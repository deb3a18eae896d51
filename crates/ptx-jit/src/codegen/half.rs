//! Arithmetic of 16 bits: computed with 32 bits and rounded once more, which gives the exact result
//! but for `fma`.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{Clamp, FloatForm, FloatOp, Instruction, ScalarType};

use super::function::Lowering;
use super::value::machine_type;
use crate::abi::Helper;

impl Lowering<'_, '_> {
    /// An operation on both halves of packed pairs.
    pub(super) fn half_pairs(&mut self, instruction: &Instruction, form: FloatForm) {
        let element = FloatForm { ty: form.ty.element(), ..form };
        let mut pairs = Vec::with_capacity(instruction.sources.len());
        for index in 0..instruction.sources.len() {
            pairs.push(self.source(instruction, index, form.ty));
        }
        let [low, high] = [0, 16].map(|shift| {
            let mut operands = Vec::with_capacity(pairs.len());
            for &pair in &pairs {
                let value = self.half_at(pair, shift);
                operands.push(if form.ftz { self.flush(value, element.ty) } else { value });
            }
            self.float_value(element, &operands)
        });
        let pair = self.join_halves(low, high);
        self.define(instruction, 0, pair, form.ty);
    }

    /// Arithmetic on halves, as their bits.
    pub(super) fn half_arithmetic(&mut self, form: FloatForm, operands: &[Value]) -> Value {
        let mut value = if form.op == FloatOp::FusedMultiplyAdd {
            let helper = match form.ty {
                ScalarType::F16 => Helper::FmaF16,
                _ => Helper::FmaBf16,
            };
            let wide = [0, 1, 2].map(|index| self.resize(operands[index], types::I32, false));
            let result = self.helper(helper, &wide);
            self.resize(result, types::I16, false)
        } else {
            let wide: Vec<Value> =
                operands.iter().map(|&operand| self.widen_half(operand, form.ty)).collect();
            let single = FloatForm { ty: ScalarType::F32, ftz: false, clamp: Clamp::None, ..form };
            let result = self.float_value(single, &wide);
            self.narrow_to_half(result, form.ty)
        };
        if form.ftz {
            value = self.flush(value, form.ty);
        }
        if form.clamp == Clamp::None {
            return value;
        }
        let wide = self.widen_half(value, form.ty);
        let clamped = self.clamp(wide, form.clamp);
        self.narrow_to_half(clamped, form.ty)
    }

    pub(super) fn clamp(&mut self, value: Value, clamp: Clamp) -> Value {
        match clamp {
            Clamp::None => value,
            Clamp::Saturate => self.saturate(value),
            Clamp::Relu => {
                let zero = self.zero(self.builder.func.dfg.value_type(value));
                let negative = self.builder.ins().fcmp(FloatCC::LessThanOrEqual, value, zero);
                self.builder.ins().select(negative, zero, value)
            }
        }
    }

    /// The half that begins at that bit of a pair.
    pub(super) fn half_at(&mut self, pair: Value, shift: i64) -> Value {
        let shifted = self.builder.ins().ushr_imm_u(pair, shift);
        self.builder.ins().ireduce(types::I16, shifted)
    }

    pub(super) fn join_halves(&mut self, low: Value, high: Value) -> Value {
        let (low, high) =
            (self.resize(low, types::I32, false), self.resize(high, types::I32, false));
        let high = self.builder.ins().ishl_imm_u(high, 16);
        self.builder.ins().bor(low, high)
    }

    /// The bits of a half as a 32-bit number. A NaN keeps its sign and its payload.
    pub(super) fn widen_half(&mut self, half: Value, ty: ScalarType) -> Value {
        let bits = self.resize(half, types::I32, false);
        if ty == ScalarType::BF16 {
            let bits = self.builder.ins().ishl_imm_u(bits, 16);
            return self.cast(bits, types::F32);
        }
        // In place of the wider number's exponent and fraction, the half is 2^112 times too small,
        // also if subnormal.
        let magnitude = self.builder.ins().band_imm_u(bits, 0x7fff);
        let placed = self.builder.ins().ishl_imm_u(magnitude, 13);
        let number = self.cast(placed, types::F32);
        let scale = self.f32(f32::from_bits((127 + 112) << 23));
        let scaled = self.builder.ins().fmul(number, scale);
        let scaled = self.cast(scaled, types::I32);
        let special = self.builder.ins().bor_imm_u(placed, 0x7f80_0000);
        let is_special =
            self.builder.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, magnitude, 0x7c00);
        let magnitude = self.builder.ins().select(is_special, special, scaled);
        let sign = self.builder.ins().band_imm_u(bits, 0x8000);
        let sign = self.builder.ins().ishl_imm_u(sign, 16);
        let bits = self.builder.ins().bor(magnitude, sign);
        self.cast(bits, types::F32)
    }

    /// A 32-bit number rounded to the nearest half, as its bits; NaN becomes the canonical one.
    pub(super) fn narrow_to_half(&mut self, value: Value, ty: ScalarType) -> Value {
        debug_assert_eq!(machine_type(ty), types::I16);
        let helper = match ty {
            ScalarType::F16 => Helper::F32ToF16,
            _ => Helper::F32ToBf16,
        };
        let bits = self.helper(helper, &[value]);
        self.resize(bits, types::I16, false)
    }
}
