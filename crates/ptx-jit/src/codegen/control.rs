//! Branches, loops, and the ways out of a thread.

use cranelift_codegen::ir::{self as clif, InstBuilder, types};
use ptx::control_flow::may_spin;
use ptx::{Instruction, Operand, Operation, ScalarType, Suspension};

use super::function::{FUEL, Lowering};
use crate::abi::Helper;

impl Lowering<'_, '_> {
    pub(super) fn branch(&mut self, instruction: &Instruction) {
        let target = self.target_block(instruction.sources[0]);
        let to =
            if self.goes_back(target) { self.builder.create_block() } else { self.blocks[target] };
        match instruction.guard {
            None => {
                self.builder.ins().jump(to, &[]);
            }
            Some(_) => {
                let next = self.next_block();
                self.branch_on_guard(instruction, to, next);
            }
        }
        if self.goes_back(target) {
            self.builder.switch_to_block(to);
            self.back_edge(target);
        }
    }

    pub(super) fn branch_table(&mut self, instruction: &Instruction) {
        let next = self.next_block();
        if instruction.guard.is_some() {
            let table = self.builder.create_block();
            self.branch_on_guard(instruction, table, next);
            self.builder.switch_to_block(table);
        }
        let index = self.source(instruction, 0, ScalarType::U32);
        let targets: Vec<usize> =
            instruction.sources[1..].iter().map(|&source| self.target_block(source)).collect();
        // Edges that go back get a block of their own, each target one.
        let blocks: Vec<clif::Block> = targets
            .iter()
            .map(|&target| match self.goes_back(target) {
                true => self.builder.create_block(),
                false => self.blocks[target],
            })
            .collect();
        let pool = &mut self.builder.func.dfg.value_lists;
        let default = clif::BlockCall::new(next, [], pool);
        let calls: Vec<_> =
            blocks.iter().map(|&block| clif::BlockCall::new(block, [], pool)).collect();
        let table = self.builder.create_jump_table(clif::JumpTableData::new(default, &calls));
        self.builder.ins().br_table(index, table);
        for (&target, &block) in targets.iter().zip(&blocks) {
            if self.goes_back(target) {
                self.builder.switch_to_block(block);
                self.back_edge(target);
            }
        }
    }

    /// `ret`, `exit`, `trap`.
    pub(super) fn leave(&mut self, instruction: &Instruction) {
        if instruction.guard.is_some() {
            let (then, next) = (self.builder.create_block(), self.next_block());
            self.branch_on_guard(instruction, then, next);
            self.builder.switch_to_block(then);
        }
        match instruction.operation {
            Operation::Return => {
                self.builder.ins().jump(self.end, &[]);
            }
            Operation::Exit => self.exit_thread(),
            _ => {
                let line = self.int(types::I32, i64::from(self.line));
                self.call_cold_helper(Helper::Trap, &[self.context, self.thread, line]);
                self.builder.ins().jump(self.fault, &[]);
            }
        }
    }

    fn branch_on_guard(&mut self, instruction: &Instruction, yes: clif::Block, no: clif::Block) {
        let guard = instruction.guard.expect("only guarded instructions branch on their guards");
        let predicate = self.builder.use_var(self.registers[guard.register.index()]);
        let (yes, no) = if guard.negated { (no, yes) } else { (yes, no) };
        self.builder.ins().brif(predicate, yes, &[], no, &[]);
    }

    pub(super) fn target_block(&self, operand: Operand) -> usize {
        let Operand::Target(target) = operand else {
            unreachable!("the parser puts labels where branches expect them");
        };
        self.code.graph.block_at(self.code.function.targets[target])
    }

    /// The block after the current one, or the end.
    pub(super) fn next_block(&self) -> clif::Block {
        self.blocks.get(self.block + 1).copied().unwrap_or(self.end)
    }

    pub(super) fn goes_back(&self, target: usize) -> bool {
        target <= self.block
    }

    /// A round of a loop ends: from time to time, look whether the launch is to end, or let other
    /// threads go on.
    fn back_edge(&mut self, target: usize) {
        let fuel = self.builder.use_var(self.fuel);
        let left = self.builder.ins().iadd_imm_s(fuel, -1);
        self.builder.def_var(self.fuel, left);
        let empty = self.builder.create_block();
        self.builder.set_cold_block(empty);
        self.builder.ins().brif(left, self.blocks[target], &[], empty, &[]);

        self.builder.switch_to_block(empty);
        let start = self.code.graph.blocks[target].instructions.start;
        let observes = |callee| self.unit.kernel.observers.contains(&callee);
        let spins = may_spin(&self.code.function, start, self.at, &self.used, observes);
        match self.plan.filter(|_| spins && self.unit.kernel.suspends) {
            Some(plan) => {
                let live = plan.liveness.live_in(target).clone();
                self.wait(Suspension::Yield, &live);
            }
            None => {
                let stop = self.cold_helper(Helper::Poll, &[self.context, self.thread]);
                let go_on = self.builder.create_block();
                self.builder.ins().brif(stop, self.fault, &[], go_on, &[]);
                self.builder.switch_to_block(go_on);
            }
        }
        // Made here: after a suspension, execution comes to this point from the resumed entry.
        let full = self.builder.ins().iconst(types::I32, FUEL);
        self.builder.def_var(self.fuel, full);
        self.builder.ins().jump(self.blocks[target], &[]);
    }
}
