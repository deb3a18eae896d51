//! Writes the instructions that one instruction of the text stands for.

use crate::ast::{Guard, Instruction, Operand, Register};
use crate::operation::{BitsForm, BitsOp, IntegerForm, IntegerOp, Operation};
use crate::parser::function_draft::FunctionDraft;
use crate::types::{RegisterType, ScalarType};

/// Adds instructions to a function that all have the guard and the line of the one that they stand
/// for.
pub(super) struct ExpansionWriter<'a, 's> {
    function: &'a mut FunctionDraft<'s>,
    guard: Option<Guard>,
    line: u32,
}

impl<'a, 's> ExpansionWriter<'a, 's> {
    pub(super) fn new(
        function: &'a mut FunctionDraft<'s>,
        guard: Option<Guard>,
        line: u32,
    ) -> ExpansionWriter<'a, 's> {
        ExpansionWriter { function, guard, line }
    }

    /// The function that the instructions are added to.
    pub(super) fn function(&mut self) -> &mut FunctionDraft<'s> {
        self.function
    }

    /// A register that the text does not name.
    pub(super) fn temporary(&mut self, class: RegisterType) -> Register {
        self.function.temporary(class)
    }

    pub(super) fn emit(
        &mut self,
        operation: Operation,
        destinations: &[Option<Register>],
        sources: &[Operand],
    ) {
        self.emit_guarded(self.guard, operation, destinations, sources);
    }

    /// Adds an instruction with a guard of its own.
    pub(super) fn emit_guarded(
        &mut self,
        guard: Option<Guard>,
        operation: Operation,
        destinations: &[Option<Register>],
        sources: &[Operand],
    ) {
        let instruction = Instruction::new(operation, destinations, sources, self.line);
        self.function.push(Instruction { guard, ..instruction });
    }

    pub(super) fn copy(&mut self, ty: ScalarType, to: Option<Register>, from: Operand) {
        self.emit(Operation::Move(ty), &[to], &[from]);
    }

    /// An integer operation into a new register.
    pub(super) fn integer(
        &mut self,
        op: IntegerOp,
        ty: ScalarType,
        sources: &[Operand],
    ) -> Operand {
        self.compute(Operation::Integer(IntegerForm { op, ty }), ty, sources)
    }

    /// An operation on bits into a new register.
    pub(super) fn bits(&mut self, op: BitsOp, ty: ScalarType, sources: &[Operand]) -> Operand {
        self.compute(Operation::Bits(BitsForm { op, ty }), ty, sources)
    }

    fn compute(&mut self, operation: Operation, ty: ScalarType, sources: &[Operand]) -> Operand {
        let class = RegisterType::declared(ty).expect("there are registers for its operands");
        let register = self.temporary(class);
        self.emit(operation, &[Some(register)], sources);
        Operand::Register(register)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_instructions_have_the_guard_and_the_line_of_the_one_they_stand_for() {
        let mut function = FunctionDraft::new(true);
        let register = function.temporary(RegisterType::Predicate);
        let guard = Some(Guard { register, negated: true });
        let mut code = ExpansionWriter::new(&mut function, guard, 7);
        let sum = code.integer(
            IntegerOp::Add { saturate: false },
            ScalarType::U64,
            &[Operand::Immediate(1), Operand::Immediate(2)],
        );
        code.copy(ScalarType::U64, None, sum);
        code.emit_guarded(None, Operation::Trap, &[], &[]);
        let (function, _) = function.finish();
        let guards: Vec<_> = function.body.iter().map(|instruction| instruction.guard).collect();
        assert_eq!(guards, [guard, guard, None]);
        assert!(function.body.iter().all(|instruction| instruction.line == 7));
        assert_eq!(function.registers, [RegisterType::Predicate, RegisterType::Bits64]);
    }
}
