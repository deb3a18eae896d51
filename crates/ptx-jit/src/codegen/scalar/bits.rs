//! Operations on bits.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{BitsForm, BitsOp, Operand, PermuteMode, ScalarType};

use crate::abi::Helper;
use crate::codegen::emitter::Emitter;
use crate::codegen::types::machine_type;

/// The result of an operation on bits, and its type. `sources` are the operands as the instruction
/// names them.
pub(super) fn bits(
    e: &mut Emitter<'_>,
    form: BitsForm,
    operands: &[Value],
    sources: &[Operand],
) -> (Value, ScalarType) {
    let BitsForm { op, ty } = form;
    let a = operands[0];
    let mut result = ty;
    let value = match op {
        BitsOp::And | BitsOp::Or | BitsOp::Xor => {
            let b = operands[1];
            match op {
                BitsOp::And => e.ins().band(a, b),
                BitsOp::Or => e.ins().bor(a, b),
                _ => e.ins().bxor(a, b),
            }
        }
        BitsOp::Not if ty == ScalarType::Pred => e.ins().bxor_imm_u(a, 1),
        BitsOp::Not => e.ins().bnot(a),
        BitsOp::LogicalNot => {
            let is_zero = e.ins().icmp_imm_u(IntCC::Equal, a, 0);
            e.resize(is_zero, machine_type(ty), false)
        }
        BitsOp::ShiftLeft => {
            let amount = operands[1];
            e.shift_left(a, amount)
        }
        BitsOp::ShiftRight => {
            let amount = operands[1];
            e.shift_right(a, amount, ty.is_signed())
        }
        BitsOp::LogicTable(table) => logic_table(e, operands, table, a),
        BitsOp::Funnel { left, wrap } => funnel(e, operands, a, left, wrap),
        BitsOp::Permute(mode) => permute(e, operands, sources[2], mode),
        BitsOp::Reverse => e.ins().bitrev(a),
        BitsOp::PopulationCount => {
            result = ScalarType::U32;
            let count = e.ins().popcnt(a);
            e.resize(count, types::I32, false)
        }
        BitsOp::LeadingZeros => {
            result = ScalarType::U32;
            let count = e.ins().clz(a);
            e.resize(count, types::I32, false)
        }
        BitsOp::FindLeading { as_shift } => {
            result = ScalarType::U32;
            find_leading(e, a, ty, as_shift)
        }
        BitsOp::FindCounted => {
            let (base, count) = (operands[1], operands[2]);
            e.helper(Helper::FindCounted, &[a, base, count])
        }
        BitsOp::Extract => extract(e, operands, a, ty),
        BitsOp::Insert => insert(e, operands, a, ty),
        BitsOp::Mask { wrap } => mask(e, operands, a, wrap),
    };
    (value, result)
}

/// The OR of the rows of the truth table that are 1.
fn logic_table(e: &mut Emitter<'_>, operands: &[Value], table: u8, a: Value) -> Value {
    let (b, c) = (operands[1], operands[2]);
    let mut result = e.int(types::I32, 0);
    for row in (0..8).filter(|row| table >> row & 1 != 0) {
        let mut product = e.int(types::I32, -1);
        for (input, bit) in [(a, 4), (b, 2), (c, 1)] {
            product = match row & bit {
                0 => e.ins().band_not(product, input),
                _ => e.ins().band(product, input),
            };
        }
        result = e.ins().bor(result, product);
    }
    result
}

/// Shifts the pair with `a` as its lower half.
fn funnel(e: &mut Emitter<'_>, operands: &[Value], a: Value, left: bool, wrap: bool) -> Value {
    let (b, c) = (operands[1], operands[2]);
    let amount = if wrap {
        e.ins().band_imm_u(c, 31)
    } else {
        let most = e.int(types::I32, 32);
        e.choose_integer(IntCC::UnsignedLessThan, c, most)
    };
    let low = e.resize(a, types::I64, false);
    let high = e.resize(b, types::I64, false);
    let high = e.ins().ishl_imm_u(high, 32);
    let pair = e.ins().bor(high, low);
    let shifted = match left {
        true => {
            let shifted = e.ins().ishl(pair, amount);
            e.ins().ushr_imm_u(shifted, 32)
        }
        false => e.ins().ushr(pair, amount),
    };
    e.ins().ireduce(types::I32, shifted)
}

/// A choice of bytes. What a constant selector chooses is known here, and needs no call.
fn permute(e: &mut Emitter<'_>, operands: &[Value], selector: Operand, mode: PermuteMode) -> Value {
    let [a, b, c] = [operands[0], operands[1], operands[2]];
    if let (PermuteMode::Selector, Operand::Immediate(selector)) = (mode, selector) {
        return permute_constant(e, a, b, selector as u32);
    }
    let mode = e.int(types::I32, mode as i64);
    e.helper(Helper::Permute, &[a, b, c, mode])
}

fn permute_constant(e: &mut Emitter<'_>, a: Value, b: Value, selector: u32) -> Value {
    let mut result = e.int(types::I32, 0);
    for place in 0..4 {
        let nibble = selector >> (4 * place) & 0xf;
        let source = if nibble & 4 == 0 { a } else { b };
        let from = i64::from(8 * (nibble & 3));
        let shifted = e.ins().ushr_imm_u(source, from);
        let mut byte = e.ins().ireduce(types::I8, shifted);
        if nibble & 8 != 0 {
            byte = e.ins().sshr_imm_u(byte, 7);
        }
        let wide = e.resize(byte, types::I32, false);
        let placed = e.ins().ishl_imm_u(wide, 8 * place as i64);
        result = e.ins().bor(result, placed);
    }
    result
}

/// The place of the leading bit that differs from the sign; all ones where there is none.
fn find_leading(e: &mut Emitter<'_>, a: Value, ty: ScalarType, as_shift: bool) -> Value {
    let bits = i64::from(ty.bits());
    let significant = if ty.is_signed() {
        let sign = e.ins().sshr_imm_u(a, bits - 1);
        e.ins().bxor(a, sign)
    } else {
        a
    };
    let zeros = e.ins().clz(significant);
    let zeros = e.resize(zeros, types::I32, false);
    let last = e.int(types::I32, bits - 1);
    let found = if as_shift { zeros } else { e.ins().isub(last, zeros) };
    let none = e.ins().icmp_imm_u(IntCC::Equal, significant, 0);
    let ones = e.int(types::I32, -1);
    e.ins().select(none, ones, found)
}

/// A field of bits, extended by zeros or by the field's highest bit inside the register.
fn extract(e: &mut Emitter<'_>, operands: &[Value], a: Value, ty: ScalarType) -> Value {
    let bits = i64::from(ty.bits());
    let position = byte(e, operands, 1);
    let length = byte(e, operands, 2);
    let mask = low_ones(e, ty, length);
    let shifted = e.shift_right(a, position, ty.is_signed());
    let field = e.ins().band(shifted, mask);
    if !ty.is_signed() {
        return field;
    }
    // Where the field's highest bit is set, everything above it is; shifting has done so beyond
    // the register.
    let last = e.int(types::I32, bits - 1);
    let end = e.ins().iadd(position, length);
    let end = e.ins().iadd_imm_s(end, -1);
    let top = e.choose_integer(IntCC::UnsignedLessThan, end, last);
    let top_bit = e.ins().ushr(a, top);
    let top_bit = e.ins().band_imm_u(top_bit, 1);
    let zero = e.int(machine_type(ty), 0);
    let sign = e.ins().isub(zero, top_bit);
    let above = e.ins().bnot(mask);
    let above = e.ins().band(above, sign);
    let signed = e.ins().bor(field, above);
    let empty = e.ins().icmp_imm_u(IntCC::Equal, length, 0);
    e.ins().select(empty, zero, signed)
}

/// `b` with a field of bits replaced by the low bits of `a`.
fn insert(e: &mut Emitter<'_>, operands: &[Value], a: Value, ty: ScalarType) -> Value {
    let b = operands[1];
    let position = byte(e, operands, 2);
    let length = byte(e, operands, 3);
    let ones = low_ones(e, ty, length);
    let mask = e.shift_left(ones, position);
    let field = e.shift_left(a, position);
    let field = e.ins().band(field, mask);
    let rest = e.ins().band_not(b, mask);
    e.ins().bor(field, rest)
}

fn mask(e: &mut Emitter<'_>, operands: &[Value], a: Value, wrap: bool) -> Value {
    let b = operands[1];
    let [position, length] = match wrap {
        true => [a, b].map(|value| e.ins().band_imm_u(value, 31)),
        false => [a, b],
    };
    let ones = low_ones(e, ScalarType::B32, length);
    e.shift_left(ones, position)
}

/// The low byte of a word, as a word.
fn byte(e: &mut Emitter<'_>, operands: &[Value], index: usize) -> Value {
    let word = operands[index];
    e.ins().band_imm_u(word, 255)
}

/// A number whose lowest `length` bits are ones.
fn low_ones(e: &mut Emitter<'_>, ty: ScalarType, length: Value) -> Value {
    let one = e.int(machine_type(ty), 1);
    let power = e.shift_left(one, length);
    e.ins().iadd_imm_s(power, -1)
}
