//! Short ways that only some lanes take: run inside the warp's function, lane by lane.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, StackSlot, Value, types};
use smallvec::SmallVec;

use super::WarpLowering;
use crate::ir::{Kind, RegisterSet, reads};
use crate::ptx::{Callee, Instruction, Operation, Register, RegisterType};

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

    /// The instructions of a block, executed by the lanes in `bits` one after the other.
    pub(super) fn run_short_way(&mut self, block: usize, join: usize, bits: Value) {
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
        let needed: SmallVec<[Register; 8]> =
            used.iter().filter(|&register| arriving.contains(register)).collect();
        let changed: SmallVec<[Register; 8]> =
            written.iter().filter(|&register| there.contains(register)).collect();
        let mut kept: SmallVec<[(Register, Value); 8]> = SmallVec::new();
        for &register in &needed {
            if let Kind::Affine(_) = self.kind(register) {
                let first = self.shared(register);
                kept.push((register, first));
            }
        }
        let mut cells: SmallVec<[(Register, StackSlot); 8]> = SmallVec::new();
        for &register in needed.iter().chain(&changed) {
            let known = cells.iter().any(|&(known, _)| known == register);
            if self.kind(register) == Kind::Varying && !known {
                let slot = self.scratch(cells.len());
                let lanes = self.lanes(register);
                let place = self.builder().ins().stack_addr(types::I64, slot, 0);
                self.store_vectors(&lanes, place, 0);
                cells.push((register, slot));
            }
        }

        self.for_lanes(bits, |this, lane| {
            for &(register, first) in &kept {
                if let Kind::Affine(strides) = this.kind(register) {
                    let value = this.in_lane(first, strides, lane);
                    this.set_shared(register, value);
                }
            }
            for &(register, slot) in &cells {
                let class = this.function().registers[register.index()];
                let place = this.scratch_cell(slot, lane, class);
                let value = this.load_cell(class, place, 0);
                this.set_shared(register, value);
            }
            for instruction in instructions {
                this.one.line = instruction.line;
                if instruction.operation != Operation::Branch {
                    this.one.guarded(instruction);
                }
            }
            for &(register, slot) in cells.iter().filter(|(register, _)| changed.contains(register))
            {
                let class = this.function().registers[register.index()];
                let mut value = this.shared(register);
                if class == RegisterType::Predicate {
                    value = this.builder().ins().bmask(types::I32, value);
                }
                let place = this.scratch_cell(slot, lane, class);
                this.builder().ins().store(MemFlagsData::trusted(), value, place, 0);
            }
        });

        for (register, value) in kept {
            self.set_shared(register, value);
        }
        for &(register, slot) in cells.iter().filter(|(register, _)| changed.contains(register)) {
            let class = self.function().registers[register.index()];
            let place = self.builder().ins().stack_addr(types::I64, slot, 0);
            let lanes = self.load_vectors(class, place, 0);
            self.set_lanes(register, &lanes);
        }
    }

    /// A loop over the lanes in `bits`, of which there is at least one.
    fn for_lanes(&mut self, bits: Value, body: impl FnOnce(&mut Self, Value)) {
        let (head, after) = (self.builder().create_block(), self.builder().create_block());
        self.builder().append_block_param(head, types::I32);
        self.builder().ins().jump(head, &[bits.into()]);

        self.builder().switch_to_block(head);
        let bits = self.builder().block_params(head)[0];
        let lane = self.builder().ins().ctz(bits);
        let lane = self.builder().ins().uextend(types::I64, lane);
        let first = self.one.thread;
        self.one.thread = self.thread_of(lane);
        body(self, lane);
        self.one.thread = first;
        let below = self.builder().ins().iadd_imm_s(bits, -1);
        let rest = self.builder().ins().band(bits, below);
        let done = self.builder().ins().icmp_imm_u(IntCC::Equal, rest, 0);
        self.builder().ins().brif(done, after, &[], head, &[rest.into()]);

        self.builder().switch_to_block(after);
    }
}
