//! Operations on bits.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;
use ptx::{BitsForm, BitsOp, PermuteMode, ScalarType};

use super::arrays::{LaneFunction, call};
use super::lanes::Lanes;
use super::make::{Uniform, uniform, vector};
use super::shape::{shuffle_bytes, vector_type};
use super::shift::{self, Shift, shift};
use crate::runtime::BitsCall;

/// The result of an operation, and its type.
pub(super) fn bits(
    b: &mut FunctionBuilder<'_>,
    form: BitsForm,
    operands: &[Lanes],
) -> (Lanes, ScalarType) {
    let BitsForm { op, ty } = form;
    let (x, signed) = (&operands[0], ty.is_signed());
    let all: Vec<&Lanes> = operands.iter().collect();
    let in_array = |b: &mut FunctionBuilder<'_>, function, result| {
        (call(b, LaneFunction::Bits(function), ty.bits(), &all, result), result)
    };
    let lanes = match op {
        BitsOp::And => x.zip(&operands[1], |x, y| b.ins().band(x, y)),
        BitsOp::Or => x.zip(&operands[1], |x, y| b.ins().bor(x, y)),
        BitsOp::Xor => x.zip(&operands[1], |x, y| b.ins().bxor(x, y)),
        BitsOp::Not => x.map(|x| b.ins().bnot(x)),
        BitsOp::LogicalNot => {
            let zero = vector(b, vector_type(ty), 0);
            let one = vector(b, vector_type(ty), 1);
            x.map(|x| {
                let is_zero = b.ins().icmp(IntCC::Equal, x, zero);
                b.ins().band(is_zero, one)
            })
        }
        BitsOp::ShiftLeft => shift(b, Shift::Left, x, &operands[1], ty),
        BitsOp::ShiftRight if signed => shift(b, Shift::RightSigned, x, &operands[1], ty),
        BitsOp::ShiftRight => shift(b, Shift::Right, x, &operands[1], ty),
        BitsOp::LogicTable(table) => logic_table(b, table, operands),
        BitsOp::Funnel { left, wrap } => funnel(b, left, wrap, operands),
        BitsOp::Permute(mode) => permute(b, mode, operands),
        BitsOp::Reverse => return in_array(b, BitsCall::Reverse, ty),
        BitsOp::PopulationCount => return in_array(b, BitsCall::PopulationCount, ScalarType::U32),
        BitsOp::LeadingZeros => return in_array(b, BitsCall::LeadingZeros, ScalarType::U32),
        BitsOp::FindLeading { as_shift } => {
            let function = match (as_shift, signed) {
                (false, false) => BitsCall::FindLeading,
                (false, true) => BitsCall::FindLeadingSigned,
                (true, false) => BitsCall::ShiftToLeading,
                (true, true) => BitsCall::ShiftToLeadingSigned,
            };
            return in_array(b, function, ScalarType::U32);
        }
        BitsOp::FindCounted => return in_array(b, BitsCall::FindCounted, ty),
        BitsOp::Extract => match field(b, &operands[1], &operands[2], ty) {
            Some((position, length)) => extract(b, x, position, length, ty),
            None if signed => return in_array(b, BitsCall::ExtractSigned, ty),
            None => return in_array(b, BitsCall::Extract, ty),
        },
        BitsOp::Insert => match field(b, &operands[2], &operands[3], ty) {
            Some((position, length)) => insert(b, operands, position, length, ty),
            None => return in_array(b, BitsCall::Insert, ty),
        },
        BitsOp::Mask { wrap } => {
            let ends = [0, 1].map(|index| wrapped(b, &operands[index], wrap));
            call(b, LaneFunction::Bits(BitsCall::Mask), 32, &[&ends[0], &ends[1]], ty)
        }
    };
    (lanes, ty)
}

fn wrapped(b: &mut FunctionBuilder<'_>, lanes: &Lanes, wrap: bool) -> Lanes {
    if !wrap {
        return lanes.clone();
    }
    let mask = vector(b, types::I32X4, 31);
    lanes.map(|value| b.ins().band(value, mask))
}

/// Any function of three bits: of two, chosen by the third.
fn logic_table(b: &mut FunctionBuilder<'_>, table: u8, operands: &[Lanes]) -> Lanes {
    let (high, low) = (table >> 4, table & 15);
    let vectors = operands[0].values.iter().zip(&operands[1].values).zip(&operands[2].values);
    let values = vectors.map(|((&x, &y), &z)| {
        if high == low {
            return function_of_two(b, low, y, z);
        }
        // The exclusive-or with the first bit is common: sums of three bits.
        if high == !low & 15 {
            let rest = function_of_two(b, low, y, z);
            return b.ins().bxor(x, rest);
        }
        let (where_set, elsewhere) =
            (function_of_two(b, high, y, z), function_of_two(b, low, y, z));
        match (high, low) {
            (_, 0) => b.ins().band(x, where_set),
            (0, _) => b.ins().band_not(elsewhere, x),
            (15, _) => b.ins().bor(x, elsewhere),
            _ => b.ins().bitselect(x, where_set, elsewhere),
        }
    });
    Lanes { values: values.collect() }
}

/// A function of two bits: bit `2 y + z` of the table.
fn function_of_two(b: &mut FunctionBuilder<'_>, table: u8, y: Value, z: Value) -> Value {
    match table {
        0b0000 => vector(b, types::I32X4, 0),
        0b0001 => {
            let either = b.ins().bor(y, z);
            b.ins().bnot(either)
        }
        0b0010 => b.ins().band_not(z, y),
        0b0011 => b.ins().bnot(y),
        0b0100 => b.ins().band_not(y, z),
        0b0101 => b.ins().bnot(z),
        0b0110 => b.ins().bxor(y, z),
        0b0111 => {
            let both = b.ins().band(y, z);
            b.ins().bnot(both)
        }
        0b1000 => b.ins().band(y, z),
        0b1001 => {
            let differ = b.ins().bxor(y, z);
            b.ins().bnot(differ)
        }
        0b1010 => z,
        0b1011 => {
            let only_y = b.ins().band_not(y, z);
            b.ins().bnot(only_y)
        }
        0b1100 => y,
        0b1101 => {
            let only_z = b.ins().band_not(z, y);
            b.ins().bnot(only_z)
        }
        0b1110 => b.ins().bor(y, z),
        _ => vector(b, types::I32X4, u64::MAX),
    }
}

/// Shifts pairs of words, the first operand the lower one.
fn funnel(b: &mut FunctionBuilder<'_>, left: bool, wrap: bool, operands: &[Lanes]) -> Lanes {
    let [low, high, amount] = [&operands[0], &operands[1], &operands[2]];
    if let Some(Uniform::Constant(amount)) = uniform(b, amount) {
        let amount = if wrap { amount & 31 } else { amount.min(32) };
        let (from_low, from_high) =
            if left { (32 - amount, amount) } else { (amount, 32 - amount) };
        let low = shift::constant(b, Shift::Right, low, from_low, types::I32X4);
        let high = shift::constant(b, Shift::Left, high, from_high, types::I32X4);
        return low.zip(&high, |low, high| b.ins().bor(low, high));
    }
    let amount = if wrap {
        wrapped(b, amount, true)
    } else {
        let most = vector(b, types::I32X4, 32);
        amount.map(|amount| b.ins().umin(amount, most))
    };
    let function = if left { BitsCall::FunnelLeft } else { BitsCall::FunnelRight };
    call(b, LaneFunction::Bits(function), 32, &[low, high, &amount], ScalarType::B32)
}

fn permute(b: &mut FunctionBuilder<'_>, mode: PermuteMode, operands: &[Lanes]) -> Lanes {
    let [x, y, selector] = [&operands[0], &operands[1], &operands[2]];
    match uniform(b, selector) {
        Some(Uniform::Constant(selector))
            if mode == PermuteMode::Selector && selector & 0x8888 == 0 =>
        {
            let bytes = std::array::from_fn(|byte| {
                let nibble = (selector >> (4 * (byte % 4)) & 7) as u8;
                let word = 4 * (byte / 4) as u8;
                if nibble < 4 { word + nibble } else { 16 + word + nibble - 4 }
            });
            x.zip(y, |x, y| shuffle_bytes(b, x, y, bytes, types::I32X4))
        }
        _ => {
            let function = LaneFunction::Bits(BitsCall::Permute);
            call(b, function, mode as u32, &[x, y, selector], ScalarType::B32)
        }
    }
}

/// A field's position and length if they are known, and it lies within the register.
fn field(
    b: &FunctionBuilder<'_>,
    position: &Lanes,
    length: &Lanes,
    ty: ScalarType,
) -> Option<(u64, u64)> {
    let (Uniform::Constant(position), Uniform::Constant(length)) =
        (uniform(b, position)?, uniform(b, length)?)
    else {
        return None;
    };
    let (position, length) = (position & 255, length & 255);
    (length > 0 && position + length <= u64::from(ty.bits())).then_some((position, length))
}

/// A field that lies within the register, extended by zeros or its highest bit.
fn extract(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    position: u64,
    length: u64,
    ty: ScalarType,
) -> Lanes {
    let (width, vector_ty) = (u64::from(ty.bits()), vector_type(ty));
    let raised = shift::constant(b, Shift::Left, lanes, width - position - length, vector_ty);
    let back = if ty.is_signed() { Shift::RightSigned } else { Shift::Right };
    shift::constant(b, back, &raised, width - length, vector_ty)
}

/// The second operand with a field that lies within the register taken from the first.
fn insert(
    b: &mut FunctionBuilder<'_>,
    operands: &[Lanes],
    position: u64,
    length: u64,
    ty: ScalarType,
) -> Lanes {
    let vector_ty = vector_type(ty);
    let placed = shift::constant(b, Shift::Left, &operands[0], position, vector_ty);
    let mask = vector(b, vector_ty, u64::MAX >> (64 - length) << position);
    placed.zip(&operands[1], |placed, rest| b.ins().bitselect(mask, placed, rest))
}
