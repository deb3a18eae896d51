//! Divergent regions of one short block: run inside the warp's function, lane by lane.
//!
//! To leave the function for them would cost more than they do: the registers of all lanes go to
//! memory, and each lane's code is entered and left. The usual case is the body of an `if` that nvcc has
//! not turned into guarded instructions, such as a store within bounds.

use cranelift_codegen::ir::Value;
use ptx::control_flow::{RegisterSet, reads};
use ptx::{Callee, Instruction, Operation, Register};
use smallvec::SmallVec;

use super::code::WarpCode;
use super::lane_loop::{ActiveLanes, run_in_lanes};
use crate::codegen::thread::guarded;
use crate::ir::Uniformity;

/// Paths with more instructions are left to the kernel's code for single threads. Each is code a second
/// time, beside that for single threads, so a limit bounds what a kernel's translation takes.
const MAX_INSTRUCTIONS: usize = 24;

/// Whether the path through a block to `join` is short and without waits.
pub(super) fn is_short_path(w: &WarpCode<'_>, block: usize, join: usize) -> bool {
    let code = &w.plan.resumable.code;
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
        && block.instructions.len() <= MAX_INSTRUCTIONS
        && code.function.body[block.instructions.clone()].iter().all(simple)
}

/// The instructions of a block, executed by some lanes one after the other.
pub(super) fn run_short_path(w: &mut WarpCode<'_>, block: usize, join: usize, active: ActiveLanes) {
    let code = &w.plan.resumable.code;
    let liveness = &w.plan.resumable.liveness;
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
    // What is kept once each lane finds as it was, and so do those on the other path.
    let is_once = |register: &Register| !w.registers.is_varying(*register);
    let once: SmallVec<[Register; 8]> = written.iter().filter(is_once).collect();
    let once: SmallVec<[(Register, Value); 8]> =
        once.into_iter().map(|register| (register, w.t.get(register))).collect();
    let is_uniform = |&&(register, _): &&(Register, Value)| {
        w.registers.uniformity(register) == Uniformity::Uniform
    };
    let uniform: SmallVec<[(Register, Value); 8]> =
        once.iter().filter(is_uniform).copied().collect();
    run_in_lanes(w, &read, &changed, active, |t| {
        for &(register, value) in &uniform {
            t.set(register, value);
        }
        for instruction in instructions {
            t.line = instruction.line;
            if instruction.operation != Operation::Branch {
                guarded(t, instruction);
            }
        }
    });
    for (register, value) in once {
        w.t.set(register, value);
    }
}
