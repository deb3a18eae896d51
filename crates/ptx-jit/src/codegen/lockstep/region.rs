//! Short ways that only some lanes take: run inside the warp's function, lane by lane.

use cranelift_codegen::ir::Value;
use ptx::control_flow::{RegisterSet, reads};
use ptx::{Callee, Instruction, Operation, Register};
use smallvec::SmallVec;

use super::WarpLowering;
use super::lanes::Among;
use crate::ir::Uniformity;

/// Ways with more instructions are left to the kernel's code for single threads.
const LONGEST: usize = 24;

impl WarpLowering<'_, '_> {
    /// Whether the way through a block to `join` is short and without waits.
    pub(super) fn is_short_way(&self, block: usize, join: usize) -> bool {
        let code = &self.plan.resumable.code;
        let block = &code.graph.blocks[block];
        let simple = |instruction: &Instruction| match instruction.operation {
            Operation::Suspend(_)
            | Operation::BranchTable
            | Operation::Return
            | Operation::Exit
            | Operation::Trap
            | Operation::Call(Callee::AssertFail) => false,
            Operation::Branch => instruction.guard.is_none(),
            _ => true,
        };
        block.successors[..] == [join]
            && block.instructions.len() <= LONGEST
            && code.function.body[block.instructions.clone()].iter().all(simple)
    }

    /// The instructions of a block, executed by some lanes one after the other.
    pub(super) fn run_short_way(&mut self, block: usize, join: usize, among: Among) {
        let code = &self.plan.resumable.code;
        let liveness = &self.plan.resumable.liveness;
        let instructions: &[Instruction] =
            &code.function.body[code.graph.blocks[block].instructions.clone()];
        let mut used = RegisterSet::empty(code.function.registers.len());
        let mut written = used.clone();
        for instruction in instructions {
            for register in reads(instruction) {
                used.insert(register);
            }
            for &register in instruction.destinations.iter().flatten() {
                written.insert(register);
            }
            if instruction.guard.is_some() {
                // Where the guard does not hold the old value stays.
                for &register in instruction.destinations.iter().flatten() {
                    used.insert(register);
                }
            }
        }
        let (arriving, there) = (liveness.live_in(block), liveness.live_in(join));
        let changed: SmallVec<[Register; 8]> =
            written.iter().filter(|&register| there.contains(register)).collect();
        // Lanes that do not come here keep what they have in the registers that are changed.
        let is_read = |register: &Register| {
            changed.contains(register) || used.contains(*register) && arriving.contains(*register)
        };
        let mut read = used.clone();
        read.extend(&written);
        let read: SmallVec<[Register; 8]> = read.iter().filter(is_read).collect();
        // What is kept once each lane finds as it was, and so do those on the other way.
        let is_once = |register: &Register| self.kind(*register) != Uniformity::Varying;
        let once: SmallVec<[Register; 8]> = written.iter().filter(is_once).collect();
        let once: SmallVec<[(Register, Value); 8]> =
            once.into_iter().map(|register| (register, self.shared(register))).collect();
        self.run_in_lanes(&read, &changed, among, |this| {
            for &(register, value) in &once {
                if this.kind(register) == Uniformity::Uniform {
                    this.set_shared(register, value);
                }
            }
            for instruction in instructions {
                this.one.line = instruction.line;
                if instruction.operation != Operation::Branch {
                    this.one.guarded(instruction);
                }
            }
        });
        for (register, value) in once {
            self.set_shared(register, value);
        }
    }
}
