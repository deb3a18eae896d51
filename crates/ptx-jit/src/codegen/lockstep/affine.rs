//! Values that lie at equal distances from lane to lane: an affine function of the lane's number, of
//! which the machine has the first lane's value only.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use crate::abi::LANES;
use crate::codegen::emitter::Emitter;
use crate::ir::{LaneStrides, WarpShape};

/// A lane's value of an affine register.
pub(super) fn lane_value(
    e: &mut Emitter<'_>,
    shape: WarpShape,
    (first, strides): (Value, LaneStrides),
    lane: Value,
) -> Value {
    let width = i64::from(shape.width());
    let distance = if width == LANES as i64 {
        e.ins().imul_imm_s(lane, strides.along)
    } else {
        let column = e.ins().band_imm_u(lane, width - 1);
        let along = e.ins().imul_imm_s(column, strides.along);
        let row = e.ins().ushr_imm_u(lane, i64::from(width.trailing_zeros()));
        let across = e.ins().imul_imm_s(row, strides.across);
        e.ins().iadd(along, across)
    };
    let ty = e.type_of(first);
    let distance = e.resize(distance, ty, false);
    e.ins().iadd(first, distance)
}

/// Whether the lanes' values are where they would be without a limit to their size.
pub(super) fn does_not_wrap(
    e: &mut Emitter<'_>,
    shape: WarpShape,
    (first, strides): (Value, LaneStrides),
    signed: bool,
) -> Value {
    let (least, greatest) = strides.range(shape);
    let (below, above) = match signed {
        true => (IntCC::SignedLessThanOrEqual, IntCC::SignedGreaterThanOrEqual),
        false => (IntCC::UnsignedLessThanOrEqual, IntCC::UnsignedGreaterThanOrEqual),
    };
    let mut fits = None;
    for (distance, condition) in [(least, below), (greatest, above)] {
        if distance == 0 {
            continue;
        }
        let end = e.ins().iadd_imm_s(first, distance);
        let right = e.ins().icmp(condition, end, first);
        fits = Some(match fits {
            Some(fits) => e.ins().band(fits, right),
            None => right,
        });
    }
    fits.expect("affine registers differ between lanes")
}
