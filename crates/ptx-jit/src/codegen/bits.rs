//! Operations on bits.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{BitsForm, BitsOp, Instruction, Operand, PermuteMode, ScalarType};

use super::function::Lowering;
use super::value::machine_type;
use crate::abi::Helper;

impl Lowering<'_, '_> {
    pub(super) fn bits(&mut self, instruction: &Instruction, form: BitsForm) {
        let BitsForm { op, ty } = form;
        let a = self.source(instruction, 0, ty);
        let mut result = ty;
        let value = match op {
            BitsOp::And | BitsOp::Or | BitsOp::Xor => {
                let b = self.source(instruction, 1, ty);
                match op {
                    BitsOp::And => self.builder.ins().band(a, b),
                    BitsOp::Or => self.builder.ins().bor(a, b),
                    _ => self.builder.ins().bxor(a, b),
                }
            }
            BitsOp::Not if ty == ScalarType::Pred => self.builder.ins().bxor_imm_u(a, 1),
            BitsOp::Not => self.builder.ins().bnot(a),
            BitsOp::LogicalNot => {
                let is_zero = self.builder.ins().icmp_imm_u(IntCC::Equal, a, 0);
                self.resize(is_zero, machine_type(ty), false)
            }
            BitsOp::ShiftLeft => {
                let amount = self.word(instruction, 1);
                self.shift_left(a, amount)
            }
            BitsOp::ShiftRight => {
                let amount = self.word(instruction, 1);
                self.shift_right(a, amount, ty.is_signed())
            }
            BitsOp::LogicTable(table) => self.logic_table(instruction, table, a),
            BitsOp::Funnel { left, wrap } => self.funnel(instruction, a, left, wrap),
            BitsOp::Permute(mode) => self.permute(instruction, a, mode),
            BitsOp::Reverse => self.builder.ins().bitrev(a),
            BitsOp::PopulationCount => {
                result = ScalarType::U32;
                let count = self.builder.ins().popcnt(a);
                self.resize(count, types::I32, false)
            }
            BitsOp::LeadingZeros => {
                result = ScalarType::U32;
                let count = self.builder.ins().clz(a);
                self.resize(count, types::I32, false)
            }
            BitsOp::FindLeading { as_shift } => {
                result = ScalarType::U32;
                self.find_leading(a, ty, as_shift)
            }
            BitsOp::FindCounted => {
                let (base, count) = (self.word(instruction, 1), self.word(instruction, 2));
                self.helper(Helper::FindCounted, &[a, base, count])
            }
            BitsOp::Extract => self.extract(instruction, a, ty),
            BitsOp::Insert => self.insert(instruction, a, ty),
            BitsOp::Mask { wrap } => self.mask(instruction, a, wrap),
        };
        self.define(instruction, 0, value, result);
    }

    fn word(&mut self, instruction: &Instruction, index: usize) -> Value {
        self.source(instruction, index, ScalarType::B32)
    }

    /// The OR of the rows of the truth table that are 1.
    fn logic_table(&mut self, instruction: &Instruction, table: u8, a: Value) -> Value {
        let (b, c) = (self.word(instruction, 1), self.word(instruction, 2));
        let mut result = self.int(types::I32, 0);
        for row in (0..8).filter(|row| table >> row & 1 != 0) {
            let mut product = self.int(types::I32, -1);
            for (input, bit) in [(a, 4), (b, 2), (c, 1)] {
                product = match row & bit {
                    0 => self.builder.ins().band_not(product, input),
                    _ => self.builder.ins().band(product, input),
                };
            }
            result = self.builder.ins().bor(result, product);
        }
        result
    }

    /// Shifts the pair with `a` as its lower half.
    fn funnel(&mut self, instruction: &Instruction, a: Value, left: bool, wrap: bool) -> Value {
        let (b, c) = (self.word(instruction, 1), self.word(instruction, 2));
        let amount = if wrap {
            self.builder.ins().band_imm_u(c, 31)
        } else {
            let most = self.int(types::I32, 32);
            self.choose_integer(IntCC::UnsignedLessThan, c, most)
        };
        let low = self.resize(a, types::I64, false);
        let high = self.resize(b, types::I64, false);
        let high = self.builder.ins().ishl_imm_u(high, 32);
        let pair = self.builder.ins().bor(high, low);
        let shifted = match left {
            true => {
                let shifted = self.builder.ins().ishl(pair, amount);
                self.builder.ins().ushr_imm_u(shifted, 32)
            }
            false => self.builder.ins().ushr(pair, amount),
        };
        self.builder.ins().ireduce(types::I32, shifted)
    }

    fn permute(&mut self, instruction: &Instruction, a: Value, mode: PermuteMode) -> Value {
        let (b, c) = (self.word(instruction, 1), self.word(instruction, 2));
        if let (PermuteMode::Selector, Operand::Immediate(selector)) =
            (mode, instruction.sources[2])
        {
            return self.permute_constant(a, b, selector as u32);
        }
        let mode = self.int(types::I32, mode as i64);
        self.helper(Helper::Permute, &[a, b, c, mode])
    }

    fn permute_constant(&mut self, a: Value, b: Value, selector: u32) -> Value {
        let mut result = self.int(types::I32, 0);
        for place in 0..4 {
            let nibble = selector >> (4 * place) & 0xf;
            let source = if nibble & 4 == 0 { a } else { b };
            let from = i64::from(8 * (nibble & 3));
            let shifted = self.builder.ins().ushr_imm_u(source, from);
            let mut byte = self.builder.ins().ireduce(types::I8, shifted);
            if nibble & 8 != 0 {
                byte = self.builder.ins().sshr_imm_u(byte, 7);
            }
            let wide = self.resize(byte, types::I32, false);
            let placed = self.builder.ins().ishl_imm_u(wide, 8 * place as i64);
            result = self.builder.ins().bor(result, placed);
        }
        result
    }

    /// The place of the leading bit that differs from the sign; all ones where there is none.
    fn find_leading(&mut self, a: Value, ty: ScalarType, as_shift: bool) -> Value {
        let bits = i64::from(ty.bits());
        let significant = if ty.is_signed() {
            let sign = self.builder.ins().sshr_imm_u(a, bits - 1);
            self.builder.ins().bxor(a, sign)
        } else {
            a
        };
        let zeros = self.builder.ins().clz(significant);
        let zeros = self.resize(zeros, types::I32, false);
        let last = self.int(types::I32, bits - 1);
        let found = if as_shift { zeros } else { self.builder.ins().isub(last, zeros) };
        let none = self.builder.ins().icmp_imm_u(IntCC::Equal, significant, 0);
        let ones = self.int(types::I32, -1);
        self.builder.ins().select(none, ones, found)
    }

    /// A field of bits, extended by zeros or by the field's highest bit inside the register.
    fn extract(&mut self, instruction: &Instruction, a: Value, ty: ScalarType) -> Value {
        let bits = i64::from(ty.bits());
        let position = self.byte(instruction, 1);
        let length = self.byte(instruction, 2);
        let mask = self.low_ones(ty, length);
        let shifted = self.shift_right(a, position, ty.is_signed());
        let field = self.builder.ins().band(shifted, mask);
        if !ty.is_signed() {
            return field;
        }
        // Where the field's highest bit is set, everything above it is; shifting has done so beyond
        // the register.
        let last = self.int(types::I32, bits - 1);
        let end = self.builder.ins().iadd(position, length);
        let end = self.builder.ins().iadd_imm_s(end, -1);
        let top = self.choose_integer(IntCC::UnsignedLessThan, end, last);
        let top_bit = self.builder.ins().ushr(a, top);
        let top_bit = self.builder.ins().band_imm_u(top_bit, 1);
        let zero = self.int(machine_type(ty), 0);
        let sign = self.builder.ins().isub(zero, top_bit);
        let above = self.builder.ins().bnot(mask);
        let above = self.builder.ins().band(above, sign);
        let signed = self.builder.ins().bor(field, above);
        let empty = self.builder.ins().icmp_imm_u(IntCC::Equal, length, 0);
        self.builder.ins().select(empty, zero, signed)
    }

    /// `b` with a field of bits replaced by the low bits of `a`.
    fn insert(&mut self, instruction: &Instruction, a: Value, ty: ScalarType) -> Value {
        let b = self.source(instruction, 1, ty);
        let position = self.byte(instruction, 2);
        let length = self.byte(instruction, 3);
        let ones = self.low_ones(ty, length);
        let mask = self.shift_left(ones, position);
        let field = self.shift_left(a, position);
        let field = self.builder.ins().band(field, mask);
        let rest = self.builder.ins().band_not(b, mask);
        self.builder.ins().bor(field, rest)
    }

    fn mask(&mut self, instruction: &Instruction, a: Value, wrap: bool) -> Value {
        let b = self.word(instruction, 1);
        let [position, length] = match wrap {
            true => [a, b].map(|value| self.builder.ins().band_imm_u(value, 31)),
            false => [a, b],
        };
        let ones = self.low_ones(ScalarType::B32, length);
        self.shift_left(ones, position)
    }

    /// The low byte of a word, as a word.
    fn byte(&mut self, instruction: &Instruction, index: usize) -> Value {
        let word = self.word(instruction, index);
        self.builder.ins().band_imm_u(word, 255)
    }

    /// As many ones as `length` says.
    fn low_ones(&mut self, ty: ScalarType, length: Value) -> Value {
        let one = self.int(machine_type(ty), 1);
        let power = self.shift_left(one, length);
        self.builder.ins().iadd_imm_s(power, -1)
    }
}
