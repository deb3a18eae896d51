//! Branches and the ends of loops' rounds.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, InstBuilder, Value, types};
use ptx::control_flow::may_spin;
use ptx::{Instruction, Operation};

use super::agree::Apart;
use super::chain::TURN;
use super::lanes::Among;
use super::{WarpLowering, vector};
use crate::abi::{Helper, KernelContext};
use crate::codegen::function::FUEL;
use crate::ir::Uniformity;

impl WarpLowering<'_, '_> {
    pub(super) fn branch(&mut self, instruction: &Instruction) {
        let target = self.one.target_block(instruction.sources[0]);
        let Some(guard) = instruction.guard else {
            return self.jump_to(target);
        };
        let next = self.one.block + 1;
        if self.kind(guard.register) != Uniformity::Varying {
            let holds = self.shared(guard.register);
            let (taken, other) = (self.way(target), self.way(next));
            let (yes, no) = if guard.negated { (other, taken) } else { (taken, other) };
            self.builder().ins().brif(holds, yes, &[], no, &[]);
            return self.finish_ways(&[(taken, target), (other, next)]);
        }
        let (taken, other) = (self.way(target), self.way(next));
        let mut apart = Apart::Unknown;
        if let Some(known) = self.agreement(guard) {
            let [agreed, differ] = [(); 2].map(|()| self.builder().create_block());
            self.builder().set_cold_block(differ);
            self.builder().ins().brif(known.agreed, agreed, &[], differ, &[]);
            self.builder().switch_to_block(agreed);
            self.builder().ins().brif(known.truth, taken, &[], other, &[]);
            self.builder().switch_to_block(differ);
            apart = known.apart;
        }
        let bits = self.lanes_apart(apart).unwrap_or_else(|| {
            let mask = self.mask(guard);
            vector::bits(self.builder(), &mask)
        });
        let [some, mixed] = [(); 2].map(|()| self.builder().create_block());
        self.builder().ins().brif(bits, some, &[], other, &[]);
        self.builder().switch_to_block(some);
        let all = self.builder().ins().icmp_imm_s(IntCC::Equal, bits, -1);
        self.builder().ins().brif(all, taken, &[], mixed, &[]);
        self.builder().switch_to_block(mixed);
        if !self.take_short_ways(bits, apart, target, next) {
            self.part(bits, target, next);
        }
        self.finish_ways(&[(taken, target), (other, next)]);
    }

    /// Runs the ways of the lanes in `bits`, to `target`, and of the others, to `next`, inside this
    /// function; whether they are short enough for that.
    fn take_short_ways(&mut self, bits: Value, apart: Apart, target: usize, next: usize) -> bool {
        let Some(join) = self.plan.joins[self.one.block] else {
            return false;
        };
        let fits = |block: usize| block == join || self.is_short_way(block, join);
        if !fits(target) || !fits(next) {
            return false;
        }
        let only = |taken: bool| match apart {
            Apart::One(lane, truth) if truth == taken => Some(Among::One(lane)),
            _ => None,
        };
        if target != join {
            let among = only(true).unwrap_or(Among::Bits(bits));
            self.run_short_way(target, join, among);
        }
        if next != join {
            let among = only(false).unwrap_or_else(|| {
                let others = self.builder().ins().bnot(bits);
                Among::Bits(others)
            });
            self.run_short_way(next, join, among);
        }
        self.jump_to(join);
        true
    }

    pub(super) fn branch_table(&mut self, instruction: &Instruction) {
        let block = self.one.block;
        let graph = &self.plan.resumable.code.graph;
        if self.plan.uniformity.diverges(self.function(), graph, block) {
            return self.part_at();
        }
        let next = block + 1;
        let (mut ways, past) = (Vec::new(), self.way(next));
        ways.push((past, next));
        if let Some(guard) = instruction.guard {
            let table = self.builder().create_block();
            let holds = self.shared(guard.register);
            let (yes, no) = if guard.negated { (past, table) } else { (table, past) };
            self.builder().ins().brif(holds, yes, &[], no, &[]);
            self.builder().switch_to_block(table);
        }
        let index = self.one.source(instruction, 0, ptx::ScalarType::U32);
        for &source in &instruction.sources[1..] {
            let target = self.one.target_block(source);
            let way = self.way(target);
            ways.push((way, target));
        }
        let pool = &mut self.builder().func.dfg.value_lists;
        let default = clif::BlockCall::new(past, [], pool);
        let calls = ways[1..].iter().map(|&(way, _)| clif::BlockCall::new(way, [], pool));
        let calls: Vec<_> = calls.collect();
        let table = self.builder().create_jump_table(clif::JumpTableData::new(default, &calls));
        self.builder().ins().br_table(index, table);
        self.finish_ways(&ways);
    }

    /// `ret`, `exit`, `trap`.
    pub(super) fn leave(&mut self, instruction: &Instruction) {
        let Some(guard) =
            instruction.guard.filter(|guard| self.kind(guard.register) == Uniformity::Varying)
        else {
            return self.one.leave(instruction);
        };
        let next = self.one.next_block();
        let mask = self.mask(guard);
        let any = vector::any(self.builder(), &mask);
        let part = self.builder().create_block();
        self.builder().ins().brif(any, part, &[], next, &[]);
        self.builder().switch_to_block(part);
        if instruction.operation == Operation::Trap {
            return self.part_at();
        }
        let all = vector::all(self.builder(), &mask);
        let mixed = self.builder().create_block();
        let end = self.one.end;
        self.builder().set_cold_block(mixed);
        self.builder().ins().brif(all, end, &[], mixed, &[]);
        self.builder().switch_to_block(mixed);
        self.part_at();
    }

    /// The block to go to for a block of the graph, or for the end. Ways back, on which there is
    /// something to do, have blocks of their own.
    fn way(&mut self, target: usize) -> clif::Block {
        match self.one.blocks.get(target) {
            Some(_) if self.one.goes_back(target) => self.builder().create_block(),
            Some(&block) => block,
            None => self.one.end,
        }
    }

    /// Fills the blocks that [`Self::way`] made. The end of a loop's round may go on with another
    /// warp, so each begins with finding its record.
    fn finish_ways(&mut self, ways: &[(clif::Block, usize)]) {
        for &(way, target) in ways {
            if self.one.goes_back(target) {
                let unfilled = self.one.blocks.get(target) != Some(&way);
                if unfilled {
                    self.begin(way);
                    self.back_edge(target);
                }
            }
        }
    }

    pub(super) fn jump_to(&mut self, target: usize) {
        let way = self.way(target);
        self.builder().ins().jump(way, &[]);
        self.finish_ways(&[(way, target)]);
    }

    /// A round of a loop ends: from time to time, look whether the launch is to end, or let other
    /// warps go on.
    fn back_edge(&mut self, target: usize) {
        let code = &self.plan.resumable.code;
        let start = code.graph.blocks[target].instructions.start;
        let kernel = self.one.unit.kernel;
        let observes = |callee| kernel.observers.contains(&callee);
        let spins = kernel.suspends
            && may_spin(&code.function, start, self.one.at, &self.one.used, observes);
        // A loop that waits for others must come to where it lets them go on.
        if !spins && self.walks_memory(target) {
            self.count_round(target);
        }
        let variable = self.one.fuel;
        let fuel = self.builder().use_var(variable);
        let left = self.builder().ins().iadd_imm_s(fuel, -1);
        self.builder().def_var(variable, left);
        let empty = self.builder().create_block();
        self.builder().set_cold_block(empty);
        let head = self.one.blocks[target];
        self.builder().ins().brif(left, head, &[], empty, &[]);

        self.builder().switch_to_block(empty);
        if spins {
            let live = self.plan.resumable.liveness.live_in(target).clone();
            self.give_way(&live);
        } else {
            let arguments = [self.one.context, self.one.thread];
            let stop = self.one.cold_helper(Helper::Poll, &arguments);
            let (go_on, fault) = (self.builder().create_block(), self.one.fault);
            self.builder().ins().brif(stop, fault, &[], go_on, &[]);
            self.builder().switch_to_block(go_on);
        }
        let full = self.builder().ins().iconst(types::I32, FUEL);
        self.builder().def_var(variable, full);
        self.builder().ins().jump(head, &[]);
    }

    /// A round of a loop that walks memory: after some, it is the next warp's turn.
    fn count_round(&mut self, target: usize) {
        let (variable, head) = (self.turns, self.one.blocks[target]);
        let left = self.builder().use_var(variable);
        let left = self.builder().ins().iadd_imm_s(left, -1);
        self.builder().def_var(variable, left);
        let empty = self.builder().create_block();
        self.builder().ins().brif(left, head, &[], empty, &[]);
        self.builder().switch_to_block(empty);
        let full = self.one.int(types::I32, TURN);
        self.builder().def_var(variable, full);
        let (turn, stay) = (self.builder().create_block(), self.builder().create_block());
        let chained = self.is_chained();
        self.builder().ins().brif(chained, turn, &[], stay, &[]);
        self.builder().switch_to_block(turn);
        let live = self.plan.resumable.liveness.live_in(target).clone();
        self.keep_registers(&live);
        let (resumption, state) = self.resumption(None);
        self.count(offset_of!(KernelContext, elsewhere));
        self.take_turn(resumption, state);
        self.go_on(resumption, &live);
        self.builder().ins().jump(head, &[]);
        self.builder().switch_to_block(stay);
        self.find_record();
    }

    pub(super) fn refuel(&mut self) {
        let variable = self.one.fuel;
        let full = self.builder().ins().iconst(types::I32, FUEL);
        self.builder().def_var(variable, full);
        let (variable, full) = (self.turns, self.one.int(types::I32, TURN));
        self.builder().def_var(variable, full);
    }
}
