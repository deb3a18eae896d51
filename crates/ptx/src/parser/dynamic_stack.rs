//! Memory that a function takes from its frame while it runs (`alloca`).
//!
//! The frame of a function that does ends with a part for this, and a register counts how much of
//! that is taken.

use crate::ast::{
    FRAME_ALIGN, FrameVariable, Function, Instruction, Operand, Register, ThreadMemory,
};
use crate::operation::Operation;
use crate::types::RegisterType;
use crate::types::ScalarType::U64;

/// The most bytes of it that a function may take: sixteen times what CUDA gives a thread by default
/// for its whole stack.
pub(super) const STACK_BYTES: usize = 16 << 10;

/// The part of a function's frame that is given out while the function runs.
#[derive(Clone, Copy)]
pub(super) struct DynamicStack {
    /// The register that counts how many bytes are taken.
    pub(super) taken: Register,
    /// Index in the function's variables.
    pub(super) variable: usize,
}

impl DynamicStack {
    /// Adds the stack's variable and register to a function.
    pub(super) fn add_to(function: &mut Function) -> DynamicStack {
        function.registers.push(RegisterType::Bits64);
        let taken = Register(function.registers.len() as u32 - 1);
        // The offset is known once the rest of the frame is.
        let (memory, bytes, align) = (ThreadMemory::Frame, STACK_BYTES, FRAME_ALIGN);
        function.variables.push(FrameVariable { memory, offset: 0, bytes, align });
        DynamicStack { taken, variable: function.variables.len() - 1 }
    }

    /// Puts the stack behind the rest of the frame, and empties it where the function begins: all
    /// other instructions move on by one.
    pub(super) fn place(self, function: &mut Function) {
        let offset = function.frame_bytes.next_multiple_of(FRAME_ALIGN);
        function.variables[self.variable].offset = offset;
        function.frame_bytes = offset + STACK_BYTES;
        let sources = [Operand::Immediate(0)];
        let empty = Instruction::new(Operation::Move(U64), &[Some(self.taken)], &sources, 0);
        function.body.insert(0, empty);
        for target in &mut function.targets {
            *target += 1;
        }
    }
}
