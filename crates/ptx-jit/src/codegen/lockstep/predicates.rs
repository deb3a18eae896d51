//! The predicates of a basic block of which more is known than their masks.

use std::collections::HashMap;

use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use ptx::{BitsOp, CompareForm, Guard, Instruction, Operand, Operation, Register, ScalarType};

use super::code::WarpCode;
use super::uniform_predicate::{DivergentLanes, UniformPredicate, compare_count, compare_range};
use crate::codegen::operators::integer_condition;
use crate::ir::Uniformity;

/// The varying predicates of the current block that may turn out to be uniform.
///
/// Only of one block: the values would have to be merged where blocks meet, and the comparison that
/// decides a branch is nearly always in the branch's block.
#[derive(Default)]
pub(super) struct UniformPredicates {
    known: HashMap<Register, UniformPredicate>,
}

impl UniformPredicates {
    /// Forgets all, where a block begins.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    /// Takes down what is known about the predicates that an instruction has written.
    pub(super) fn note(&mut self, w: &mut WarpCode<'_>, instruction: &Instruction) {
        let known = match instruction.operation {
            _ if instruction.guard.is_some() => None,
            Operation::Compare(form) if form.result == ScalarType::Pred => {
                comparison(w, instruction, form)
            }
            Operation::Bits(form) if form.ty == ScalarType::Pred => {
                self.connective(w, instruction, form.op)
            }
            _ => None,
        };
        for register in instruction.destinations.iter().flatten() {
            self.known.remove(register);
        }
        if let (Some(known), Some(&Some(register))) = (known, instruction.destinations.first()) {
            self.known.insert(register, known);
        }
    }

    /// Finds what is known about a guard.
    pub(super) fn guard(&self, w: &mut WarpCode<'_>, guard: Guard) -> Option<UniformPredicate> {
        let known = *self.known.get(&guard.register)?;
        Some(if guard.negated { known.opposite(&mut w.t.e) } else { known })
    }

    /// Finds what is known about a predicate as an operand.
    fn operand(&self, w: &mut WarpCode<'_>, operand: Operand) -> Option<UniformPredicate> {
        let (register, negated) = match operand {
            Operand::Register(register) => (register, false),
            Operand::Negated(register) => (register, true),
            _ => return None,
        };
        if w.registers.is_varying(register) {
            return self.guard(w, Guard { register, negated });
        }
        let truth = w.t.operand(operand, ScalarType::Pred);
        Some(UniformPredicate::shared(&mut w.t.e, truth))
    }

    fn connective(
        &self,
        w: &mut WarpCode<'_>,
        instruction: &Instruction,
        op: BitsOp,
    ) -> Option<UniformPredicate> {
        let a = self.operand(w, instruction.sources[0])?;
        if op == BitsOp::Not {
            return Some(a.opposite(&mut w.t.e));
        }
        let b = self.operand(w, *instruction.sources.get(1)?)?;
        let e = &mut w.t.e;
        let is_uniform = e.ins().band(a.is_uniform, b.is_uniform);
        let truth = match op {
            BitsOp::And => e.ins().band(a.truth, b.truth),
            BitsOp::Or => e.ins().bor(a.truth, b.truth),
            BitsOp::Xor => e.ins().bxor(a.truth, b.truth),
            _ => return None,
        };
        Some(UniformPredicate { is_uniform, truth, lanes: DivergentLanes::Unknown })
    }
}

fn comparison(
    w: &mut WarpCode<'_>,
    instruction: &Instruction,
    form: CompareForm,
) -> Option<UniformPredicate> {
    if form.ty.is_float() || form.ty.bits() < 32 || form.combine.is_some() {
        return None;
    }
    let uniformity = |index: usize| {
        let operand = instruction.sources[index];
        match operand {
            Operand::Register(register) => {
                let bits = w.registers.class(register).bits();
                (bits == form.ty.bits()).then(|| w.registers.uniformity(register))
            }
            Operand::Special(_) if form.ty.bits() != 32 => None,
            _ => w.plan.uniformity.operand(w.registers.function(), operand),
        }
    };
    let (strides, swapped) = match (uniformity(0)?, uniformity(1)?) {
        (Uniformity::Affine(strides), Uniformity::Uniform) => (strides, false),
        (Uniformity::Uniform, Uniformity::Affine(strides)) => (strides, true),
        _ => return None,
    };
    let condition = integer_condition(form.comparison, form.ty.is_signed());
    let condition = if swapped { condition.swap_args() } else { condition };
    let (affine, other) = if swapped { (1, 0) } else { (0, 1) };
    let first = w.t.source(instruction, affine, form.ty);
    let limit = w.t.source(instruction, other, form.ty);
    let shape = w.plan.uniformity.shape();
    let counts = strides.along == 1 && shape.width() == 32;
    let is_equality = matches!(condition, IntCC::Equal | IntCC::NotEqual);
    let known = match counts && strides.lanes && !is_equality {
        // Values that begin at a multiple of 32 do not wrap within a warp.
        true => compare_count(&mut w.t.e, condition, first, limit),
        false => compare_range(&mut w.t.e, shape, condition, (first, strides), limit),
    };
    let lanes = match w.plan.uniformity.constant(instruction.sources[other]) {
        Some(constant) if is_equality && strides.lanes => {
            DivergentLanes::OneLane(constant as u32 % 32, condition == IntCC::Equal)
        }
        _ if is_equality => DivergentLanes::Unknown,
        _ if counts && strides.lanes => known.lanes,
        _ if counts && form.ty.bits() == 32 => DivergentLanes::Ramp { condition, first, limit },
        _ => DivergentLanes::Unknown,
    };
    Some(UniformPredicate { lanes, ..known })
}
