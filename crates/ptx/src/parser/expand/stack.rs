//! Memory that a function takes from its frame while it runs: `alloca`, `stacksave`,
//! `stackrestore`.
//!
//! The frame of a function that uses them ends with a part for this, and a register counts how much
//! of that is taken.

use super::{Draft, Parser, Site};
use crate::ast::{
    FRAME_ALIGN, FrameVariable, Guard, Instruction, Operand, Register, ThreadMemory, VariableRef,
};
use crate::error::{Error, ErrorKind};
use crate::operation::{BitsForm, BitsOp, CompareForm, Comparison, IntegerOp, Operation};
use crate::types::RegisterType;
use crate::types::ScalarType::{B64, Pred, U64};

/// How much of it a function may take: sixteen times what CUDA gives a thread by default for its
/// whole stack.
const STACK_BYTES: usize = 16 << 10;

/// The memory of a function that is given out while it runs.
#[derive(Clone, Copy)]
pub(in crate::parser) struct Stack {
    /// How many bytes are taken.
    taken: Register,
    /// Index in the function's variables.
    variable: usize,
}

impl<'s> Parser<'s> {
    /// `alloca.u64 d, size{, alignment}`.
    pub(super) fn alloca(&mut self, draft: &mut Draft<'s>, site: Site) -> Result<(), Error> {
        let result = self.result(draft, U64, false)?;
        self.cursor.expect(b',', "`,`")?;
        let size = self.value(draft, U64, false)?;
        let mut align = 8;
        if self.cursor.accept(b',') {
            align = self.alignment()?;
            if align > FRAME_ALIGN {
                let kind = ErrorKind::Unsupported("so large an alignment");
                return Err(self.cursor.last_error(kind));
            }
        }
        let stack = draft.stack();
        let taken = Operand::Register(stack.taken);
        let add = IntegerOp::Add { saturate: false };
        let mask = Operand::Immediate((align as u64 - 1) ^ u64::MAX);
        let raised = draft.compute(site, add, U64, &[taken, Operand::Immediate(align as u64 - 1)]);
        let start = draft.temporary(RegisterType::Bits64);
        let and = Operation::Bits(BitsForm { op: BitsOp::And, ty: B64 });
        draft.emit(site, and, &[Some(start)], &[raised, mask]);
        let start = Operand::Register(start);
        let end = draft.compute(site, add, U64, &[start, size]);
        // A size near the largest number must not lead back into the stack.
        for amount in [size, end] {
            draft.trap_above(site, amount);
        }
        let base = draft.temporary(RegisterType::Bits64);
        let address = Operand::AddressOf(VariableRef::Frame(stack.variable), 0);
        draft.copy(site, U64, Some(base), address);
        let place = draft.compute(site, add, U64, &[Operand::Register(base), start]);
        draft.copy(site, U64, result, place);
        draft.copy(site, U64, Some(stack.taken), end);
        Ok(())
    }

    /// `stacksave.u64 d`.
    pub(super) fn stack_save(&mut self, draft: &mut Draft<'s>, site: Site) -> Result<(), Error> {
        let result = self.result(draft, U64, false)?;
        let taken = draft.stack().taken;
        draft.copy(site, U64, result, Operand::Register(taken));
        Ok(())
    }

    /// `stackrestore.u64 a`.
    pub(super) fn stack_restore(&mut self, draft: &mut Draft<'s>, site: Site) -> Result<(), Error> {
        let saved = self.value(draft, U64, false)?;
        draft.trap_above(site, saved);
        let taken = draft.stack().taken;
        draft.copy(site, U64, Some(taken), saved);
        Ok(())
    }
}

impl Draft<'_> {
    fn stack(&mut self) -> Stack {
        if let Some(stack) = self.stack {
            return stack;
        }
        let taken = self.temporary(RegisterType::Bits64);
        let variables = &mut self.function.variables;
        let (memory, bytes) = (ThreadMemory::Frame, STACK_BYTES);
        // The offset is known once the rest of the frame is.
        variables.push(FrameVariable { memory, offset: 0, bytes, align: FRAME_ALIGN });
        *self.stack.insert(Stack { taken, variable: variables.len() - 1 })
    }

    /// Stops the thread where a number is larger than the stack.
    fn trap_above(&mut self, site: Site, amount: Operand) {
        let above = self.temporary(RegisterType::Predicate);
        let form = CompareForm {
            comparison: Comparison::Greater,
            ty: U64,
            ftz: false,
            combine: None,
            result: Pred,
        };
        // Not compared where the guard does not hold, so it must not hold there.
        let always = Site { guard: None, ..site };
        self.copy(always, Pred, Some(above), Operand::Immediate(0));
        let sources = [amount, Operand::Immediate(STACK_BYTES as u64)];
        self.emit(site, Operation::Compare(form), &[Some(above), None], &sources);
        let guard = Some(Guard { register: above, negated: false });
        self.emit(Site { guard, ..site }, Operation::Trap, &[], &[]);
    }
}

/// Puts the stack behind the rest of the frame, and empties it where the function begins; whether
/// there is one, for which all instructions moved on by one.
pub(in crate::parser) fn finish_stack(draft: &mut Draft<'_>) -> bool {
    let Some(Stack { taken, variable }) = draft.stack else { return false };
    let function = &mut draft.function;
    let offset = function.frame_bytes.next_multiple_of(FRAME_ALIGN);
    function.variables[variable].offset = offset;
    function.frame_bytes = offset + STACK_BYTES;
    let empty = Instruction {
        guard: None,
        operation: Operation::Move(U64),
        destinations: [Some(taken)].as_slice().into(),
        sources: [Operand::Immediate(0)].as_slice().into(),
        line: 0,
    };
    function.body.insert(0, empty);
    for target in &mut function.targets {
        *target += 1;
    }
    true
}
