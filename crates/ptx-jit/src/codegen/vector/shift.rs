//! Shifts: by what all lanes share with one instruction, by the rest through arrays. SSE has no shift of
//! each element by an amount of its own; that came with AVX2, which hosts need not have.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use ptx::ScalarType;

use super::arrays::{LaneFunction, call};
use super::lanes::Lanes;
use super::make::{Uniform, uniform, vector};
use super::shape::bitcast;
use crate::runtime::BitsCall;

/// A way of shifting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shift {
    Left,
    Right,
    /// By copies of the sign.
    RightSigned,
}

/// Shifts that give 0 (or the sign) where the amount, a 32-bit integer, reaches the width.
pub(super) fn shift(
    b: &mut FunctionBuilder<'_>,
    how: Shift,
    lanes: &Lanes,
    amount: &Lanes,
    ty: ScalarType,
) -> Lanes {
    let vector_ty = b.func.dfg.value_type(lanes.values[0]);
    match uniform(b, amount) {
        Some(Uniform::Constant(amount)) => constant(b, how, lanes, amount, vector_ty),
        Some(Uniform::Scalar(amount)) => scalar(b, how, lanes, amount, vector_ty),
        None => {
            let function = match how {
                Shift::Left => BitsCall::ShiftLeft,
                Shift::Right => BitsCall::ShiftRight,
                Shift::RightSigned => BitsCall::ShiftRightSigned,
            };
            call(b, LaneFunction::Bits(function), ty.bits(), &[lanes, amount], ty)
        }
    }
}

/// A shift by a constant.
pub(super) fn constant(
    b: &mut FunctionBuilder<'_>,
    how: Shift,
    lanes: &Lanes,
    amount: u64,
    ty: Type,
) -> Lanes {
    let width = u64::from(ty.lane_bits());
    if amount >= width && how != Shift::RightSigned {
        let zero = vector(b, ty, 0);
        return Lanes::repeated(zero, lanes.values.len());
    }
    let amount = b.ins().iconst(types::I32, amount.min(width - 1) as i64);
    plain(b, how, lanes, amount)
}

fn scalar(
    b: &mut FunctionBuilder<'_>,
    how: Shift,
    lanes: &Lanes,
    amount: Value,
    ty: Type,
) -> Lanes {
    let width = i64::from(ty.lane_bits());
    let inside = b.ins().icmp_imm_u(IntCC::UnsignedLessThan, amount, width);
    if how == Shift::RightSigned {
        let last = b.ins().iconst(types::I32, width - 1);
        let amount = b.ins().select(inside, amount, last);
        return plain(b, how, lanes, amount);
    }
    let shifted = plain(b, how, lanes, amount);
    let mask = b.ins().bmask(types::I32, inside);
    let mask = b.ins().splat(types::I32X4, mask);
    let mask = bitcast(b, mask, ty);
    shifted.map(|value| b.ins().band(value, mask))
}

fn plain(b: &mut FunctionBuilder<'_>, how: Shift, lanes: &Lanes, amount: Value) -> Lanes {
    lanes.map(|value| match how {
        Shift::Left => b.ins().ishl(value, amount),
        Shift::Right => b.ins().ushr(value, amount),
        Shift::RightSigned => b.ins().sshr(value, amount),
    })
}
