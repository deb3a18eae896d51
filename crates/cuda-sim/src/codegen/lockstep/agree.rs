//! Predicates on which all lanes agree: comparisons with affine values are decided by the least and
//! the greatest of them, without looking at each lane.

use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value};

use super::WarpLowering;
use crate::codegen::compare::integer_condition;
use crate::ir::{Kind, Strides};
use crate::ptx::{BitsOp, CompareForm, Guard, Instruction, Operand, Operation, ScalarType};

/// What is known about a predicate: whether all lanes have the same truth, and that one.
#[derive(Clone, Copy)]
pub(super) struct Agreement {
    pub(super) agreed: Value,
    pub(super) truth: Value,
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
        Agreement { truth: self.builder().ins().bxor_imm_u(known.truth, 1), ..known }
    }

    /// What is known about a predicate as an operand.
    fn operand_agreement(&mut self, operand: Operand) -> Option<Agreement> {
        let (register, negated) = match operand {
            Operand::Register(register) => (register, false),
            Operand::Negated(register) => (register, true),
            _ => return None,
        };
        if self.kind(register) == Kind::Varying {
            return self.agreement(Guard { register, negated });
        }
        let truth = self.one.operand(operand, ScalarType::Pred);
        let agreed = self.one.int(cranelift_codegen::ir::types::I8, 1);
        Some(Agreement { agreed, truth })
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
        Some(Agreement { agreed, truth })
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
                _ => self.plan.kinds.operand(self.function(), operand),
            }
        };
        let (strides, swapped) = match (kind(0)?, kind(1)?) {
            (Kind::Affine(strides), Kind::Uniform) => (strides, false),
            (Kind::Uniform, Kind::Affine(strides)) => (strides, true),
            _ => return None,
        };
        let condition = integer_condition(form.comparison, form.ty.is_signed());
        let condition = if swapped { condition.swap_args() } else { condition };
        let (affine, other) = if swapped { (1, 0) } else { (0, 1) };
        let first = self.one.source(instruction, affine, form.ty);
        let limit = self.one.source(instruction, other, form.ty);
        Some(self.compare_range(condition, first, strides, limit))
    }

    /// Compares affine values with one for all lanes.
    fn compare_range(
        &mut self,
        condition: IntCC,
        first: Value,
        strides: Strides,
        limit: Value,
    ) -> Agreement {
        let (least, greatest) = strides.range(self.plan.kinds.shape());
        let signed = matches!(
            condition,
            IntCC::SignedLessThan
                | IntCC::SignedLessThanOrEqual
                | IntCC::SignedGreaterThan
                | IntCC::SignedGreaterThanOrEqual
        );
        let fits = self.does_not_wrap(first, strides, signed);
        let [least, greatest] =
            [least, greatest].map(|distance| self.builder().ins().iadd_imm_s(first, distance));
        let (same, truth) = match condition {
            IntCC::Equal | IntCC::NotEqual => {
                let below = self.builder().ins().icmp(IntCC::UnsignedLessThan, limit, least);
                let above = self.builder().ins().icmp(IntCC::UnsignedGreaterThan, limit, greatest);
                let differs = i64::from(condition == IntCC::NotEqual);
                let truth = self.one.int(cranelift_codegen::ir::types::I8, differs);
                (self.builder().ins().bor(below, above), truth)
            }
            _ => {
                let low = self.builder().ins().icmp(condition, least, limit);
                let high = self.builder().ins().icmp(condition, greatest, limit);
                (self.builder().ins().icmp(IntCC::Equal, low, high), low)
            }
        };
        Agreement { agreed: self.builder().ins().band(fits, same), truth }
    }
}
