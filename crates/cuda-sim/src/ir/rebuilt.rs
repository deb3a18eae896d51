//! Registers that need not be kept while a warp waits, since what they hold follows from the warp's
//! place in its block: indices of threads, and addresses of shared memory made of them.
//!
//! What follows from the launch is kept all the same. It is the same for all warps, so the code
//! generator would compute it once for all of them, and then have to keep it itself.

use super::common::{Kind, is_for_each_lane};
use super::graph::Graph;
use super::kinds::Kinds;
use super::liveness::{RegisterSet, reads};
use crate::ptx::{Function, Instruction, IntegerOp, Operand, Operation, SpecialRegister};

/// The instructions whose results can be had again at any time, and the registers of those.
pub(crate) struct Rebuilt {
    /// In the order of the text, in which each finds its operands.
    instructions: Vec<usize>,
    registers: RegisterSet,
}

impl Rebuilt {
    /// Looks through the code that all threads execute first.
    pub(super) fn new(function: &Function, graph: &Graph, kinds: &Kinds) -> Rebuilt {
        let count = function.registers.len();
        let (mut written, mut rewritten) = (RegisterSet::empty(count), RegisterSet::empty(count));
        for &register in function.body.iter().flat_map(|at| at.destinations.iter().flatten()) {
            match written.contains(register) {
                true => rewritten.insert(register),
                false => written.insert(register),
            }
        }
        let mut rebuilt =
            Rebuilt { instructions: Vec::new(), registers: RegisterSet::empty(count) };
        for at in 0..begins_with(function, graph) {
            let instruction = &function.body[at];
            let [Some(register)] = instruction.destinations[..] else {
                continue;
            };
            let known = reads(instruction).iter().all(|&read| rebuilt.registers.contains(read));
            let alone = !rewritten.contains(register) && kinds.of(register) != Kind::Varying;
            if known && alone && is_pure(function, instruction) {
                rebuilt.instructions.push(at);
                rebuilt.registers.insert(register);
            }
        }
        rebuilt
    }

    /// Those of some registers that must be kept.
    pub(crate) fn others(&self, registers: &RegisterSet) -> RegisterSet {
        let mut others = registers.clone();
        self.registers.iter().for_each(|register| others.remove(register));
        others
    }

    /// The instructions that give the rest of those registers again, in order.
    pub(crate) fn instructions_for(
        &self,
        function: &Function,
        registers: &RegisterSet,
    ) -> Vec<usize> {
        let mut needed = registers.clone();
        let mut instructions: Vec<usize> = Vec::new();
        for &at in self.instructions.iter().rev() {
            let instruction = &function.body[at];
            if instruction.destinations.iter().flatten().any(|&to| needed.contains(to)) {
                instructions.push(at);
                reads(instruction).into_iter().for_each(|register| needed.insert(register));
            }
        }
        instructions.reverse();
        instructions
    }
}

/// How many instructions every thread executes before it may go anywhere else, or wait.
fn begins_with(function: &Function, graph: &Graph) -> usize {
    let mut entries = vec![0; graph.blocks.len()];
    for &successor in graph.blocks.iter().flat_map(|block| &block.successors) {
        entries[successor] += 1;
    }
    let mut last = 0;
    while graph.blocks[last].successors[..] == [last + 1] && entries[last + 1] == 1 {
        last += 1;
    }
    let end = graph.blocks[last].instructions.end;
    let waits = |at: &Instruction| matches!(at.operation, Operation::Suspend(_));
    function.body[..end].iter().position(waits).unwrap_or(end)
}

/// Whether an instruction depends on nothing but its operands and what stays the same while the
/// kernel runs, and costs next to nothing.
fn is_pure(function: &Function, instruction: &Instruction) -> bool {
    let stays = |source: &Operand| match source {
        Operand::Special(special) => {
            matches!(special, SpecialRegister::ThreadIndex(_) | SpecialRegister::Lane)
        }
        _ => true,
    };
    let simple = match instruction.operation {
        Operation::Move(_) | Operation::ToGeneric { .. } | Operation::FromGeneric { .. } => true,
        Operation::Integer(form) => matches!(
            form.op,
            IntegerOp::Add { .. }
                | IntegerOp::Sub { .. }
                | IntegerOp::Multiply(_)
                | IntegerOp::MultiplyAdd { .. }
        ),
        Operation::Bits(_) => true,
        Operation::Convert(form) => !form.to.is_float() && !form.from.is_float(),
        _ => false,
    };
    simple
        && instruction.guard.is_none()
        && !is_for_each_lane(function, instruction)
        && instruction.sources.iter().all(stays)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Lockstep, WarpShape, plan};
    use crate::ptx;

    #[test]
    fn what_follows_from_a_threads_index_is_rebuilt_and_the_rest_is_kept() {
        let source = ".version 6.3 .target sm_75 .address_size 64
             .entry k(.param .u64 p, .param .u32 n) {
             .reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p;
             ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4;
             add.s64 %d2, %d0, %d1; ld.global.u32 %r1, [%d2]; mov.u32 %r2, %clock;
             mov.u32 %r3, 8; ld.param.u32 %r4, [n]; add.u32 %r6, %r0, 3; shl.b32 %r7, %r6, 2;
             L: bar.sync 0; sub.u32 %r3, %r3, 1; setp.ne.u32 %p, %r3, %r4; @%p bra L;
             add.u32 %r5, %r1, %r2; add.u32 %r5, %r5, %r7; st.global.u32 [%d2], %r5; ret; }";
        let module = ptx::parse(source).expect("valid PTX");
        let calls = crate::ir::analyse_calls(&module).expect("valid PTX");
        let kernel = plan(&module, &calls, 0).unwrap_or_else(|_| panic!("it is small"));
        let lockstep = Lockstep::new(&kernel, WarpShape::of([32, 1, 1]));
        let function = &kernel.entry.function;
        let live = lockstep.resumable.liveness.live_in(2);
        let names = |set: &RegisterSet| set.iter().map(|register| register.0).collect::<Vec<_>>();
        // %r1 to %r4 and %d2 are kept; %r7 follows by %r0 and %r6.
        assert_eq!(names(&lockstep.rebuilt.others(live)), [1, 2, 3, 4, 11]);
        assert_eq!(lockstep.rebuilt.instructions_for(function, live), [1, 8, 9]);
    }
}
