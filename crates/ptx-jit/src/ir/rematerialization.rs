//! Rematerialization: registers that are computed again after a warp has waited, instead of being kept
//! in its frame.
//!
//! The word is that of register allocators (Briggs, Cooper and Torczon, "Rematerialization"). It is
//! done for values that follow from the launch and the warp's position in it: parameters, indices of
//! threads and blocks, and what is computed from them in a few steps. Kernels compute addresses in that
//! way and use them on both sides of a barrier. To store and load a vector for 32 lanes costs more than
//! an addition.

use ptx::control_flow::{Liveness, RegisterSet, reads};
use ptx::{
    AddressBase, Function, Instruction, IntegerOp, MemoryOperand, Operand, Operation,
    SpecialRegister, StateSpace,
};

use super::uniformity::{Uniformity, is_for_each_lane};
use super::uniformity_analysis::UniformityInfo;

/// The instructions whose results can be computed again at any time, and their registers.
pub(crate) struct Rematerializable {
    /// Indices in the order of the text, in which each instruction follows those that it needs.
    instructions: Vec<usize>,
    registers: RegisterSet,
}

impl Rematerializable {
    /// Finds the registers. One counts if a single instruction writes it, before any reads it: whoever
    /// needs it later has executed that instruction, so its operands had their values by then, and
    /// have them still.
    pub(super) fn new(
        function: &Function,
        liveness: &Liveness,
        uniformity: &UniformityInfo,
    ) -> Rematerializable {
        let count = function.registers.len();
        let (mut written, mut rewritten) = (RegisterSet::empty(count), RegisterSet::empty(count));
        for &register in function.body.iter().flat_map(|at| at.destinations.iter().flatten()) {
            match written.contains(register) {
                true => rewritten.insert(register),
                false => written.insert(register),
            }
        }
        let mut rematerializable =
            Rematerializable { instructions: Vec::new(), registers: RegisterSet::empty(count) };
        for (at, instruction) in function.body.iter().enumerate() {
            let [Some(register)] = instruction.destinations[..] else {
                continue;
            };
            let known =
                reads(instruction).iter().all(|&read| rematerializable.registers.contains(read));
            let alone = !rewritten.contains(register) && !liveness.live_in(0).contains(register);
            let small = uniformity.of(register) != Uniformity::Varying;
            if known && alone && small && is_pure(function, instruction) {
                rematerializable.instructions.push(at);
                rematerializable.registers.insert(register);
            }
        }
        rematerializable
    }

    /// The registers of a set that must be kept, because they cannot be computed again.
    pub(crate) fn others(&self, registers: &RegisterSet) -> RegisterSet {
        registers.without(&self.registers)
    }

    /// The instructions that compute the other registers of a set again, in order.
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

/// Whether an instruction depends on nothing but its operands and what stays the same while the
/// kernel runs, and costs next to nothing.
fn is_pure(function: &Function, instruction: &Instruction) -> bool {
    let stays = |source: &Operand| match source {
        Operand::Special(special) => !matches!(
            special,
            SpecialRegister::Clock
                | SpecialRegister::ClockHigh
                | SpecialRegister::Clock64
                | SpecialRegister::GlobalTimer
                | SpecialRegister::GlobalTimerLow
                | SpecialRegister::GlobalTimerHigh
        ),
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
        Operation::Load(form) => {
            let named = |address: MemoryOperand| matches!(address.base, AddressBase::Variable(_));
            form.space == StateSpace::Param
                && matches!(instruction.sources[0], Operand::Memory(address) if named(address))
        }
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

    #[test]
    fn what_follows_from_a_threads_index_and_the_launch_is_rebuilt_and_the_rest_is_kept() {
        let source = ".version 6.3 .target sm_75 .address_size 64
             .entry k(.param .u64 p, .param .u32 n) {
             .reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p;
             ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4;
             add.s64 %d2, %d0, %d1; ld.global.u32 %r1, [%d2]; mov.u32 %r2, %clock;
             mov.u32 %r3, 8; ld.param.u32 %r4, [n]; add.u32 %r6, %r0, 3; shl.b32 %r7, %r6, 2;
             L: bar.sync 0; sub.u32 %r3, %r3, 1; setp.ne.u32 %p, %r3, %r4; @%p bra L;
             add.u32 %r5, %r1, %r2; add.u32 %r5, %r5, %r7; st.global.u32 [%d2], %r5; ret; }";
        let module = ptx::parse(source).expect("valid PTX");
        let calls = ptx::control_flow::CallGraph::new(&module).expect("valid PTX");
        let kernel = plan(&module, &calls, 0).unwrap_or_else(|_| panic!("it is small"));
        let lockstep = Lockstep::new(&kernel, WarpShape::of([32, 1, 1]));
        let function = &kernel.entry.function;
        let live = lockstep.resumable.liveness.live_in(2);
        let names = |set: &RegisterSet| set.iter().map(|register| register.0).collect::<Vec<_>>();
        // What was loaded, the clock and the counter are kept; %d2 and %r7 follow step by step.
        assert_eq!(names(&lockstep.rematerializable.others(live)), [1, 2, 3]);
        assert_eq!(
            lockstep.rematerializable.instructions_for(function, live),
            [0, 1, 2, 3, 7, 8, 9]
        );
    }
}
