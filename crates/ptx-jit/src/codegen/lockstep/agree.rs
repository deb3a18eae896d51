//! Predicates on which all lanes agree: comparisons with affine values are decided by the least and
//! the greatest of them, without looking at each lane.

use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{BitsOp, CompareForm, Guard, Instruction, Operand, Operation, ScalarType};

use super::WarpLowering;
use crate::codegen::compare::integer_condition;
use crate::ir::{LaneStrides, Uniformity};

/// What is known about a predicate: whether all lanes have the same truth, and that one.
#[derive(Clone, Copy)]
pub(super) struct Agreement {
    pub(super) agreed: Value,
    pub(super) truth: Value,
    pub(super) apart: Apart,
}

/// Where a predicate holds on which lanes do not agree.
#[derive(Clone, Copy)]
pub(super) enum Apart {
    Unknown,
    /// In one lane it has this truth, in all others the opposite.
    One(u32, bool),
    /// In so many lanes, from the first one on, it has this truth, in all others the opposite. The
    /// number is from 1 to 31 where lanes do not agree.
    Count(Value, bool),
    /// Where 32-bit integers that count up from lane to lane compare so with a limit.
    Ramp {
        condition: IntCC,
        first: Value,
        limit: Value,
    },
}

impl WarpLowering<'_, '_> {
    /// Takes down what is known about the predicates that an instruction has written.
    pub(super) fn note(&mut self, instruction: &Instruction) {
        let known = match instruction.operation {
            _ if instruction.guard.is_some() => None,
            Operation::Compare(form) if form.result == ScalarType::Pred => {
                self.comparison(instruction, form)
            }
            Operation::Bits(form) if form.ty == ScalarType::Pred => {
                self.connective(instruction, form.op)
            }
            _ => None,
        };
        for register in instruction.destinations.iter().flatten() {
            self.agreements.remove(register);
        }
        if let (Some(known), Some(&Some(register))) = (known, instruction.destinations.first()) {
            self.agreements.insert(register, known);
        }
    }

    /// What is known about a guard.
    pub(super) fn agreement(&mut self, guard: Guard) -> Option<Agreement> {
        let known = *self.agreements.get(&guard.register)?;
        Some(if guard.negated { self.opposite(known) } else { known })
    }

    fn opposite(&mut self, known: Agreement) -> Agreement {
        let apart = match known.apart {
            Apart::Unknown => Apart::Unknown,
            Apart::One(lane, truth) => Apart::One(lane, !truth),
            Apart::Count(count, truth) => Apart::Count(count, !truth),
            Apart::Ramp { condition, first, limit } => {
                Apart::Ramp { condition: condition.complement(), first, limit }
            }
        };
        let truth = self.builder().ins().bxor_imm_u(known.truth, 1);
        Agreement { truth, apart, ..known }
    }

    /// What is known about a predicate as an operand.
    fn operand_agreement(&mut self, operand: Operand) -> Option<Agreement> {
        let (register, negated) = match operand {
            Operand::Register(register) => (register, false),
            Operand::Negated(register) => (register, true),
            _ => return None,
        };
        if self.kind(register) == Uniformity::Varying {
            return self.agreement(Guard { register, negated });
        }
        let truth = self.one.operand(operand, ScalarType::Pred);
        let agreed = self.one.int(types::I8, 1);
        Some(Agreement { agreed, truth, apart: Apart::Unknown })
    }

    fn connective(&mut self, instruction: &Instruction, op: BitsOp) -> Option<Agreement> {
        let a = self.operand_agreement(instruction.sources[0])?;
        if op == BitsOp::Not {
            return Some(self.opposite(a));
        }
        let b = self.operand_agreement(*instruction.sources.get(1)?)?;
        let agreed = self.builder().ins().band(a.agreed, b.agreed);
        let truth = match op {
            BitsOp::And => self.builder().ins().band(a.truth, b.truth),
            BitsOp::Or => self.builder().ins().bor(a.truth, b.truth),
            BitsOp::Xor => self.builder().ins().bxor(a.truth, b.truth),
            _ => return None,
        };
        Some(Agreement { agreed, truth, apart: Apart::Unknown })
    }

    fn comparison(&mut self, instruction: &Instruction, form: CompareForm) -> Option<Agreement> {
        if form.ty.is_float() || form.ty.bits() < 32 || form.combine.is_some() {
            return None;
        }
        let kind = |index: usize| {
            let operand = instruction.sources[index];
            match operand {
                Operand::Register(register) => {
                    let bits = self.function().registers[register.index()].bits();
                    (bits == form.ty.bits()).then(|| self.kind(register))
                }
                Operand::Special(_) if form.ty.bits() != 32 => None,
                _ => self.plan.uniformity.operand(self.function(), operand),
            }
        };
        let (strides, swapped) = match (kind(0)?, kind(1)?) {
            (Uniformity::Affine(strides), Uniformity::Uniform) => (strides, false),
            (Uniformity::Uniform, Uniformity::Affine(strides)) => (strides, true),
            _ => return None,
        };
        let condition = integer_condition(form.comparison, form.ty.is_signed());
        let condition = if swapped { condition.swap_args() } else { condition };
        let (affine, other) = if swapped { (1, 0) } else { (0, 1) };
        let first = self.one.source(instruction, affine, form.ty);
        let limit = self.one.source(instruction, other, form.ty);
        let counts = strides.along == 1 && self.plan.uniformity.shape().width() == 32;
        let known = match condition {
            IntCC::Equal | IntCC::NotEqual => self.compare_range(condition, first, strides, limit),
            // Values that begin at a multiple of 32 do not wrap within a warp.
            _ if counts && strides.lanes => self.compare_count(condition, first, limit),
            _ => self.compare_range(condition, first, strides, limit),
        };
        let constant = self.plan.uniformity.constant(instruction.sources[other]);
        let apart = match (condition, constant) {
            (IntCC::Equal | IntCC::NotEqual, Some(constant)) if strides.lanes => {
                Apart::One(constant as u32 % 32, condition == IntCC::Equal)
            }
            (IntCC::Equal | IntCC::NotEqual, _) => Apart::Unknown,
            _ if counts && strides.lanes => known.apart,
            _ if counts && form.ty.bits() == 32 => Apart::Ramp { condition, first, limit },
            _ => Apart::Unknown,
        };
        Some(Agreement { apart, ..known })
    }

    /// Compares `first` plus the lane's number, which does not wrap, with a limit: the lanes do not
    /// agree if the limit lies among them.
    fn compare_count(&mut self, condition: IntCC, first: Value, limit: Value) -> Agreement {
        let distance = self.builder().ins().isub(limit, first);
        // Lanes part behind the limit if it is on the side of what is below it, and else before it.
        let [before, count] = match includes_limit(condition) {
            true => [distance, self.builder().ins().iadd_imm_s(distance, 1)],
            false => [self.builder().ins().iadd_imm_s(distance, -1), distance],
        };
        let above = IntCC::UnsignedGreaterThanOrEqual;
        let agreed = self.builder().ins().icmp_imm_u(above, before, 31);
        let truth = self.builder().ins().icmp(condition, first, limit);
        Agreement { agreed, truth, apart: Apart::Count(count, holds_below(condition)) }
    }

    /// Compares affine values with one for all lanes.
    fn compare_range(
        &mut self,
        condition: IntCC,
        first: Value,
        strides: LaneStrides,
        limit: Value,
    ) -> Agreement {
        let (least, greatest) = strides.range(self.plan.uniformity.shape());
        let signed = is_signed(condition);
        let fits = self.does_not_wrap(first, strides, signed);
        let [least, greatest] =
            [least, greatest].map(|distance| self.builder().ins().iadd_imm_s(first, distance));
        let (same, truth) = match condition {
            IntCC::Equal | IntCC::NotEqual => {
                let below = self.builder().ins().icmp(IntCC::UnsignedLessThan, limit, least);
                let above = self.builder().ins().icmp(IntCC::UnsignedGreaterThan, limit, greatest);
                let differs = i64::from(condition == IntCC::NotEqual);
                let truth = self.one.int(types::I8, differs);
                (self.builder().ins().bor(below, above), truth)
            }
            _ => {
                let low = self.builder().ins().icmp(condition, least, limit);
                let high = self.builder().ins().icmp(condition, greatest, limit);
                (self.builder().ins().icmp(IntCC::Equal, low, high), low)
            }
        };
        let agreed = self.builder().ins().band(fits, same);
        Agreement { agreed, truth, apart: Apart::Unknown }
    }

    /// The lanes in which a predicate holds that they do not agree on; nothing if its mask must be
    /// looked at.
    pub(super) fn lanes_apart(&mut self, apart: Apart) -> Option<Value> {
        match apart {
            Apart::Unknown => None,
            Apart::One(lane, truth) => {
                let bits = if truth { 1_u32 << lane } else { !(1_u32 << lane) };
                Some(self.one.int(types::I32, i64::from(bits as i32)))
            }
            Apart::Count(count, truth) => {
                let count = self.one.resize(count, types::I32, false);
                let one = self.one.int(types::I32, 1);
                let above = self.builder().ins().ishl(one, count);
                Some(match truth {
                    true => self.builder().ins().iadd_imm_s(above, -1),
                    false => self.builder().ins().ineg(above),
                })
            }
            Apart::Ramp { condition, first, limit } => {
                Some(self.ramp_bits(condition, first, limit))
            }
        }
    }

    /// The lanes in which `first` plus the lane's number compares so with a limit.
    fn ramp_bits(&mut self, condition: IntCC, first: Value, limit: Value) -> Value {
        let signed = is_signed(condition);
        let [first, limit] = [first, limit].map(|value| self.one.resize(value, types::I64, signed));
        let beyond = i64::from(includes_limit(condition));
        // How many lanes come before the limit, and before the values wrap; behind that they are
        // less by 2 to the 32.
        let to_limit = self.builder().ins().isub(limit, first);
        let to_limit = self.builder().ins().iadd_imm_s(to_limit, beyond);
        let from_wrapped = self.builder().ins().iadd_imm_s(to_limit, 1 << 32);
        let top = self.one.int(types::I64, if signed { 1 << 31 } else { 1 << 32 });
        let to_wrap = self.builder().ins().isub(top, first);
        let [before, wrapped, inside] =
            [to_limit, from_wrapped, to_wrap].map(|count| self.first_lanes(count));
        let bits = self.builder().ins().bitselect(inside, before, wrapped);
        if holds_below(condition) { bits } else { self.builder().ins().bnot(bits) }
    }

    /// The bits of so many lanes, from the first one; of none or all if there are fewer or more.
    fn first_lanes(&mut self, count: Value) -> Value {
        let [none, all] = [0, 32].map(|count| self.one.int(types::I64, count));
        let some = self.one.choose_integer(IntCC::SignedGreaterThan, count, none);
        let some = self.one.choose_integer(IntCC::SignedLessThan, some, all);
        let one = self.one.int(types::I64, 1);
        let above = self.builder().ins().ishl(one, some);
        let bits = self.builder().ins().iadd_imm_s(above, -1);
        self.builder().ins().ireduce(types::I32, bits)
    }
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
