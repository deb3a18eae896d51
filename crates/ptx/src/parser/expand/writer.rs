//! Writes the instructions that one instruction of the text stands for.

use crate::ast::{
    AddressBase, Guard, Instruction, MemoryOperand, Operand, Register, SpecialRegister,
};
use crate::operation::{
    BitsForm, BitsOp, CompareForm, Comparison, IntegerForm, IntegerOp, Operation, ProductPart,
};
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

    /// A product of numbers of 32 bits, in a new register of the type, which may be twice as wide.
    pub(super) fn product(&mut self, ty: ScalarType, sources: &[Operand]) -> Operand {
        match ty.bits() {
            64 => {
                let wide = IntegerOp::Multiply(ProductPart::Wide);
                let form = IntegerForm { op: wide, ty: ScalarType::U32 };
                self.compute(Operation::Integer(form), ty, sources)
            }
            _ => self.integer(IntegerOp::Multiply(ProductPart::Low), ty, sources),
        }
    }

    /// A location in memory as an address in a new register, which may be added to, and the type of
    /// addresses of that width.
    pub(super) fn address(&mut self, location: MemoryOperand) -> (Register, ScalarType) {
        let MemoryOperand { base, offset } = location;
        let add = |code: &mut Self, ty, base, offset| match code.integer(
            IntegerOp::Add { saturate: false },
            ty,
            &[base, Operand::Immediate(offset)],
        ) {
            Operand::Register(register) => register,
            _ => unreachable!("it computes into a register"),
        };
        match base {
            AddressBase::Register(register)
                if self.function.register_type(register).bits() == 32 =>
            {
                let offset = u64::from(offset as u32);
                (add(self, ScalarType::U32, Operand::Register(register), offset), ScalarType::U32)
            }
            AddressBase::Register(register) => {
                let base = Operand::Register(register);
                (add(self, ScalarType::U64, base, offset as u64), ScalarType::U64)
            }
            AddressBase::Variable(variable) => {
                let address = self.temporary(RegisterType::Bits64);
                let from = Operand::AddressOf(variable, offset);
                self.copy(ScalarType::U64, Some(address), from);
                (address, ScalarType::U64)
            }
            AddressBase::Absolute => {
                let address = self.temporary(RegisterType::Bits64);
                self.copy(ScalarType::U64, Some(address), Operand::Immediate(offset as u64));
                (address, ScalarType::U64)
            }
        }
    }

    /// A guard for where a comparison of unsigned numbers of 32 bits holds, and the instruction's own
    /// guard too.
    pub(super) fn guard_where(&mut self, a: Operand, comparison: Comparison, b: Operand) -> Guard {
        let register = self.temporary(RegisterType::Predicate);
        // Not compared where the guard does not hold, so it must not hold there.
        let never = [Operand::Immediate(0)];
        self.emit_guarded(None, Operation::Move(ScalarType::Pred), &[Some(register)], &never);
        let compare = Operation::Compare(CompareForm::integers(comparison, ScalarType::U32));
        self.emit(compare, &[Some(register), None], &[a, b]);
        Guard { register, negated: false }
    }

    /// A guard for the first lanes of the warp, where the instruction's own guard holds.
    pub(super) fn lanes_below(&mut self, count: u64) -> Guard {
        let lane = Operand::Special(SpecialRegister::Lane);
        self.guard_where(lane, Comparison::Less, Operand::Immediate(count))
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
