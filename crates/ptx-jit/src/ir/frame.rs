//! The frame of a warp: where its registers lie while its lanes are not in them.
//!
//! A warp's lanes leave the machine's registers when they wait, and when they part: lanes that run one
//! by one are other code than the warp in lockstep. A register of the kernel has a slot with a cell for
//! each lane, next to each other, so that a whole warp's values are stored as vectors and a single lane
//! finds its own.

use std::sync::Arc;

use ptx::control_flow::{ControlFlowGraph, Liveness, RegisterSet};
use ptx::{Function, Operation, Register, RegisterType};

use super::kernel::FunctionIr;

/// Code that can be left and entered again where threads wait, with the registers that must be kept
/// meanwhile.
pub(crate) struct Resumable {
    pub(crate) code: FunctionIr,
    pub(crate) liveness: Liveness,
    pub(crate) layout: FrameLayout,
}

impl Resumable {
    /// Cuts a function's blocks at some instructions, and around those at which threads wait.
    pub(crate) fn new(function: &Arc<Function>, cuts: impl Iterator<Item = usize>) -> Resumable {
        let waits = function
            .body
            .iter()
            .enumerate()
            .filter(|(_, instruction)| matches!(instruction.operation, Operation::Suspend(_)));
        let around = waits.flat_map(|(at, _)| [at, at + 1]);
        let graph = ControlFlowGraph::split(function, cuts.chain(around));
        let code = FunctionIr { function: Arc::clone(function), graph };
        let liveness = Liveness::new(&code.function, &code.graph);
        let layout = FrameLayout::new(&code, &liveness);
        Resumable { code, liveness, layout }
    }
}

/// The offsets of the registers' slots in a frame.
#[derive(Clone, Debug)]
pub(crate) struct FrameLayout {
    /// The offset of each register's slot, but for those that never leave the machine's registers.
    offsets: Vec<Option<i32>>,
    pub(crate) bytes: usize,
}

/// The lanes of a warp, each of which has a cell.
const LANES: usize = 32;

impl FrameLayout {
    /// Slots for the registers that are live where a block of the code begins: code is left and entered
    /// at the beginnings of blocks only.
    fn new(code: &FunctionIr, liveness: &Liveness) -> FrameLayout {
        let registers = &code.function.registers;
        let mut kept = RegisterSet::empty(registers.len());
        for block in 0..code.graph.blocks.len() {
            kept.extend(liveness.live_in(block));
        }
        let (mut offsets, mut bytes) = (vec![None; registers.len()], 0);
        for register in kept.iter() {
            offsets[register.index()] = Some(bytes as i32);
            bytes += LANES * cell_bytes(registers[register.index()]);
        }
        FrameLayout { offsets, bytes }
    }

    /// The registers that have slots.
    pub(crate) fn kept(&self) -> impl Iterator<Item = Register> {
        let registers = (0..).map(Register).zip(&self.offsets);
        registers.filter(|(_, offset)| offset.is_some()).map(|(register, _)| register)
    }

    /// The offset of a register's first cell in the frame.
    pub(crate) fn slot(&self, register: Register) -> i32 {
        self.offsets[register.index()]
            .expect("a register that is kept in a frame lives across a block's start")
    }
}

/// The size of one lane's cell. Predicates are masks: 32 bits, all ones or zero.
pub(crate) fn cell_bytes(ty: RegisterType) -> usize {
    match ty {
        RegisterType::Bits16 => 2,
        RegisterType::Predicate | RegisterType::Bits32 | RegisterType::Float32 => 4,
        RegisterType::Bits64 | RegisterType::Float64 => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lives_from_block_to_block_has_a_place() {
        let source = ".version 6.3 .target sm_75 .address_size 64
             .entry k() { .reg .b32 %r<3>; .reg .b64 %d; .reg .b16 %h; .reg .pred %p;
             mov.u32 %r0, 1; mov.u32 %r1, %r0; mov.b64 %d, 2; mov.b16 %h, 3;
             setp.eq.u32 %p, %r1, 1; L: add.u64 %d, %d, 1; add.u16 %h, %h, 1; @%p bra L;
             mov.u32 %r2, %r1; ret; }";
        let function = ptx::parse(source).expect("valid PTX").functions.remove(0);
        let code = FunctionIr::new(function);
        let layout = FrameLayout::new(&code, &Liveness::new(&code.function, &code.graph));
        // %r0, %r1, %r2, %d, %h, %p
        assert_eq!(layout.offsets, [None, Some(0), None, Some(128), Some(384), Some(448)]);
        assert_eq!(layout.bytes, 576);
    }
}
