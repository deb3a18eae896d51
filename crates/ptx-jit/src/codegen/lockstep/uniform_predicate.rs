//! Predicates that are found to be uniform when the code runs: comparisons with affine values are decided
//! by the least and the greatest of them, without looking at each lane.
//!
//! Nearly every kernel begins by comparing its thread's index with a limit. For most warps all lanes
//! are on one side of it, and three scalar instructions see that; the mask would take sixteen vector
//! instructions.

use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::affine::does_not_wrap;
use crate::codegen::emitter::Emitter;
use crate::ir::{LaneStrides, WarpShape};

/// The knowledge of a predicate beside its mask, as values of the running code.
#[derive(Clone, Copy)]
pub(super) struct UniformPredicate {
    /// Whether all lanes have the same truth.
    pub(super) is_uniform: Value,
    /// The truth that all lanes have, if they have the same.
    pub(super) truth: Value,
    /// The lanes in which it holds if they have not.
    pub(super) lanes: DivergentLanes,
}

/// The lanes in which a predicate holds that is not uniform.
#[derive(Clone, Copy)]
pub(super) enum DivergentLanes {
    /// Its mask must be looked at.
    Unknown,
    /// In one lane it has this truth, in all others the opposite.
    OneLane(u32, bool),
    /// In so many lanes, from the first one on, it has this truth, in all others the opposite. The
    /// number is from 1 to 31 where lanes do not agree.
    FirstLanes(Value, bool),
    /// The lanes in which 32-bit integers that count up from lane to lane compare so with a limit.
    Ramp { condition: IntCC, first: Value, limit: Value },
}

impl UniformPredicate {
    /// The knowledge of a predicate that all lanes share.
    pub(super) fn shared(e: &mut Emitter<'_>, truth: Value) -> UniformPredicate {
        let is_uniform = e.int(types::I8, 1);
        UniformPredicate { is_uniform, truth, lanes: DivergentLanes::Unknown }
    }

    /// The knowledge of the predicate that holds where this one does not.
    pub(super) fn opposite(self, e: &mut Emitter<'_>) -> UniformPredicate {
        let lanes = match self.lanes {
            DivergentLanes::Unknown => DivergentLanes::Unknown,
            DivergentLanes::OneLane(lane, truth) => DivergentLanes::OneLane(lane, !truth),
            DivergentLanes::FirstLanes(count, truth) => DivergentLanes::FirstLanes(count, !truth),
            DivergentLanes::Ramp { condition, first, limit } => {
                DivergentLanes::Ramp { condition: condition.complement(), first, limit }
            }
        };
        let truth = e.ins().bxor_imm_u(self.truth, 1);
        UniformPredicate { truth, lanes, ..self }
    }
}

impl DivergentLanes {
    /// The bits of the lanes, where the predicate is not uniform; nothing if its mask must be looked at.
    pub(super) fn bits(self, e: &mut Emitter<'_>) -> Option<Value> {
        match self {
            DivergentLanes::Unknown => None,
            DivergentLanes::OneLane(lane, truth) => {
                let bits = if truth { 1_u32 << lane } else { !(1_u32 << lane) };
                Some(e.int(types::I32, i64::from(bits as i32)))
            }
            DivergentLanes::FirstLanes(count, truth) => {
                let count = e.resize(count, types::I32, false);
                let one = e.int(types::I32, 1);
                let above = e.ins().ishl(one, count);
                Some(match truth {
                    true => e.ins().iadd_imm_s(above, -1),
                    false => e.ins().ineg(above),
                })
            }
            DivergentLanes::Ramp { condition, first, limit } => {
                Some(ramp_bits(e, condition, first, limit))
            }
        }
    }
}

/// Compares `first` plus the lane's number, which does not wrap, with a limit: the lanes do not
/// agree if the limit lies among them.
pub(super) fn compare_count(
    e: &mut Emitter<'_>,
    condition: IntCC,
    first: Value,
    limit: Value,
) -> UniformPredicate {
    let distance = e.ins().isub(limit, first);
    // Lanes diverge behind the limit if it is on the side of what is below it, and else before it.
    let [before, count] = match includes_limit(condition) {
        true => [distance, e.ins().iadd_imm_s(distance, 1)],
        false => [e.ins().iadd_imm_s(distance, -1), distance],
    };
    let above = IntCC::UnsignedGreaterThanOrEqual;
    let is_uniform = e.ins().icmp_imm_u(above, before, 31);
    let truth = e.ins().icmp(condition, first, limit);
    UniformPredicate {
        is_uniform,
        truth,
        lanes: DivergentLanes::FirstLanes(count, holds_below(condition)),
    }
}

/// Compares affine values with one for all lanes: they agree if the least and the greatest do.
pub(super) fn compare_range(
    e: &mut Emitter<'_>,
    shape: WarpShape,
    condition: IntCC,
    (first, strides): (Value, LaneStrides),
    limit: Value,
) -> UniformPredicate {
    let (least, greatest) = strides.range(shape);
    let signed = is_signed(condition);
    let fits = does_not_wrap(e, shape, (first, strides), signed);
    let [least, greatest] = [least, greatest].map(|distance| e.ins().iadd_imm_s(first, distance));
    let (same, truth) = match condition {
        IntCC::Equal | IntCC::NotEqual => {
            let below = e.ins().icmp(IntCC::UnsignedLessThan, limit, least);
            let above = e.ins().icmp(IntCC::UnsignedGreaterThan, limit, greatest);
            let differs = i64::from(condition == IntCC::NotEqual);
            let truth = e.int(types::I8, differs);
            (e.ins().bor(below, above), truth)
        }
        _ => {
            let low = e.ins().icmp(condition, least, limit);
            let high = e.ins().icmp(condition, greatest, limit);
            (e.ins().icmp(IntCC::Equal, low, high), low)
        }
    };
    let is_uniform = e.ins().band(fits, same);
    UniformPredicate { is_uniform, truth, lanes: DivergentLanes::Unknown }
}

/// The lanes in which `first` plus the lane's number compares so with a limit.
fn ramp_bits(e: &mut Emitter<'_>, condition: IntCC, first: Value, limit: Value) -> Value {
    let signed = is_signed(condition);
    let [first, limit] = [first, limit].map(|value| e.resize(value, types::I64, signed));
    let beyond = i64::from(includes_limit(condition));
    // How many lanes come before the limit, and before the values wrap; behind that they are
    // less by 2 to the 32.
    let to_limit = e.ins().isub(limit, first);
    let to_limit = e.ins().iadd_imm_s(to_limit, beyond);
    let from_wrapped = e.ins().iadd_imm_s(to_limit, 1 << 32);
    let top = e.int(types::I64, if signed { 1 << 31 } else { 1 << 32 });
    let to_wrap = e.ins().isub(top, first);
    let [before, wrapped, inside] =
        [to_limit, from_wrapped, to_wrap].map(|count| first_lanes(e, count));
    let bits = e.ins().bitselect(inside, before, wrapped);
    if holds_below(condition) { bits } else { e.ins().bnot(bits) }
}

/// The bits of so many lanes, from the first one; of none or all if there are fewer or more.
fn first_lanes(e: &mut Emitter<'_>, count: Value) -> Value {
    let [none, all] = [0, 32].map(|count| e.int(types::I64, count));
    let some = e.choose_integer(IntCC::SignedGreaterThan, count, none);
    let some = e.choose_integer(IntCC::SignedLessThan, some, all);
    let one = e.int(types::I64, 1);
    let above = e.ins().ishl(one, some);
    let bits = e.ins().iadd_imm_s(above, -1);
    e.ins().ireduce(types::I32, bits)
}

fn is_signed(condition: IntCC) -> bool {
    matches!(
        condition,
        IntCC::SignedLessThan
            | IntCC::SignedLessThanOrEqual
            | IntCC::SignedGreaterThan
            | IntCC::SignedGreaterThanOrEqual
    )
}

/// Whether it is values below the limit that compare so.
fn holds_below(condition: IntCC) -> bool {
    matches!(condition.without_equal(), IntCC::SignedLessThan | IntCC::UnsignedLessThan)
}

/// Whether values up to the limit are on one side, and those above it on the other; if not, the
/// limit is on the side of what is above it.
fn includes_limit(condition: IntCC) -> bool {
    matches!(
        condition,
        IntCC::SignedLessThanOrEqual
            | IntCC::UnsignedLessThanOrEqual
            | IntCC::SignedGreaterThan
            | IntCC::UnsignedGreaterThan
    )
}
