//! Branches, and the ways that lanes go apart: from a branch to where its ways come together, or for
//! good.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, InstBuilder, Value, types};

use super::agree::Apart;
use super::chain::TURN;
use super::lanes::Among;
use super::{WarpLowering, vector};
use crate::codegen::function::{FUEL, Point};
use crate::exec::runtime::Helper;
use crate::exec::state::{PARTED, WarpRecord};
use crate::ir::{self, Kind, RegisterSet, between, reads};
use crate::ptx::{Instruction, Operation, Suspension};

/// Stands for a way that leads straight to where the others come.
const THERE: i64 = 0;

impl WarpLowering<'_, '_> {
    pub(super) fn branch(&mut self, instruction: &Instruction) {
        let target = self.one.target_block(instruction.sources[0]);
        let Some(guard) = instruction.guard else {
            return self.jump_to(target);
        };
        let next = self.one.block + 1;
        if self.kind(guard.register) != Kind::Varying {
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
        if self.plan.kinds.parts(self.function(), graph, block) {
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
        let index = self.one.source(instruction, 0, crate::ptx::ScalarType::U32);
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
            instruction.guard.filter(|guard| self.kind(guard.register) == Kind::Varying)
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

    /// Fills the blocks that [`Self::way`] made.
    fn finish_ways(&mut self, ways: &[(clif::Block, usize)]) {
        for &(way, target) in ways {
            if self.one.goes_back(target) {
                let unfilled = self.one.blocks.get(target) != Some(&way);
                if unfilled {
                    self.builder().switch_to_block(way);
                    self.back_edge(target);
                }
            }
        }
    }

    fn jump_to(&mut self, target: usize) {
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
            && ir::may_spin(&code.function, start, self.one.at, &self.one.used, observes);
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
            self.wait(Suspension::Yield, &[], &live);
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
        self.store_registers(&live);
        let (resumption, state) = self.resumption();
        self.take_turn(state, false);
        self.builder().switch_to_block(resumption);
        self.load_registers(&live);
        self.refuel();
        self.builder().ins().jump(head, &[]);
        self.builder().switch_to_block(stay);
    }

    /// The index of the point where a block begins, from 1 on: the state of threads there.
    fn point(&mut self, block: usize, stops: bool) -> i64 {
        let next = self.points.len();
        let index = *self.point_of.entry(block).or_insert(next);
        if index == next {
            self.points.push(Point { block, stops, warp_state: 0 });
        }
        self.points[index].stops |= stops;
        if stops && self.points[index].warp_state == 0 {
            let entry = self.builder().create_block();
            self.one.resumptions.push(entry);
            self.points[index].warp_state = self.one.resumptions.len() as u32;
            self.rejoining.push((entry, block));
        }
        index as i64 + 1
    }

    /// Fills the blocks where warps whose threads have all come to a point go on in lockstep.
    pub(super) fn rejoin(&mut self) {
        for (entry, block) in std::mem::take(&mut self.rejoining) {
            self.builder().switch_to_block(entry);
            let plan = self.plan;
            self.load_registers(plan.resumable.liveness.live_in(block));
            self.refuel();
            let head = self.one.blocks[block];
            self.builder().ins().jump(head, &[]);
        }
    }

    pub(super) fn refuel(&mut self) {
        let variable = self.one.fuel;
        let full = self.builder().ins().iconst(types::I32, FUEL);
        self.builder().def_var(variable, full);
        let (variable, full) = (self.turns, self.one.int(types::I32, TURN));
        self.builder().def_var(variable, full);
    }

    /// The lanes in `bits` go to the block `target`, the others to `next`: each goes on by itself
    /// to where the ways come together.
    fn part(&mut self, bits: Value, target: usize, next: usize) {
        let graph = &self.plan.resumable.code.graph;
        let join = self.plan.joins[self.one.block];
        let state = |this: &mut Self, block: usize| match block {
            block if Some(block) == join => THERE,
            // Behind the last block there is nothing to run.
            block => this.point(block.min(graph.blocks.len() - 1), false),
        };
        let (taken, other) = (state(self, target), state(self, next));
        let arriving: Vec<usize> =
            [target, next].into_iter().filter(|&block| Some(block) != join).collect();
        self.run_apart(bits, [taken, other], &arriving, join);
    }

    /// All lanes go on by themselves, from before the instruction that begins the current block.
    pub(super) fn part_at(&mut self) {
        let block = self.one.block;
        let join = self.plan.joins[block];
        let state = self.point(block, false);
        let all = self.builder().ins().iconst(types::I32, -1);
        self.run_apart(all, [state, THERE], &[block], join);
    }

    /// Runs lanes one by one from two states on, up to the block `join`, and goes on there
    /// together; unless some end or have to wait. `arriving` are the blocks that they begin with.
    fn run_apart(
        &mut self,
        bits: Value,
        states: [i64; 2],
        arriving: &[usize],
        join: Option<usize>,
    ) {
        let stop = join.map_or(0, |join| self.point(join, true));
        let Ways { before, rest, after } = self.on_the_ways(arriving, join);
        self.store_lanes(&before);
        let [taken, other, stop] =
            [states[0], states[1], stop].map(|state| self.one.int(types::I32, state));
        let arguments = [self.one.context, self.record, bits, taken, other, stop];
        let parted = self.one.cold_helper(Helper::RunLanes, &arguments);
        let (apart, together) = (self.builder().create_block(), self.builder().create_block());
        self.builder().ins().brif(parted, apart, &[], together, &[]);

        self.builder().switch_to_block(apart);
        self.store_lanes(&rest);
        self.return_to_scheduler(parted);

        self.builder().switch_to_block(together);
        match join {
            Some(join) => {
                self.load_registers(&after);
                self.jump_to(join);
            }
            None => {
                let end = self.one.end;
                self.builder().ins().jump(end, &[]);
            }
        }
    }

    /// What lanes need and change on the ways from some blocks to `join`.
    fn on_the_ways(&self, arriving: &[usize], join: Option<usize>) -> Ways {
        let ir::Resumable { code, liveness, .. } = &self.plan.resumable;
        let none = RegisterSet::empty(code.function.registers.len());
        let mut ways = Ways { before: none.clone(), rest: none.clone(), after: none.clone() };
        let (mut used, mut written, mut live) = (none.clone(), none.clone(), none);
        for block in blocks_from(&code.graph, arriving, join) {
            for instruction in &code.function.body[code.graph.blocks[block].instructions.clone()] {
                for register in reads(instruction) {
                    used.insert(register);
                }
                for &register in instruction.destinations.iter().flatten() {
                    written.insert(register);
                }
            }
        }
        let there = join.map(|join| liveness.live_in(join));
        if let Some(there) = there {
            live.extend(there);
        }
        for &block in arriving {
            live.extend(liveness.live_in(block));
        }
        for register in live.iter() {
            let needed = there.is_some_and(|there| there.contains(register));
            let changed = written.contains(register) && needed;
            if changed {
                ways.after.insert(register);
            }
            match changed || used.contains(register) {
                true => ways.before.insert(register),
                false => ways.rest.insert(register),
            }
        }
        ways
    }

    /// The lanes leave the lockstep for good, from before the instruction that begins the current
    /// block.
    pub(super) fn part_for_good(&mut self) {
        let block = self.one.block;
        let point = self.point(block, false);
        let plan = self.plan;
        self.store_lanes(plan.resumable.liveness.live_in(block));
        let point = self.one.int(types::I32, point);
        self.store_to_record(point, offset_of!(WarpRecord, point));
        let all = self.one.int(types::I32, -1);
        self.store_to_record(all, offset_of!(WarpRecord, there));
        let none = self.one.int(types::I32, 0);
        for offset in [offset_of!(WarpRecord, stop), offset_of!(WarpRecord, waiting)] {
            self.store_to_record(none, offset);
        }
        let parted = self.one.int(types::I32, i64::from(PARTED));
        self.return_to_scheduler(parted);
    }
}

/// The registers that matter on the ways that lanes go by themselves.
struct Ways {
    /// Those that they need to have in their cells before.
    before: RegisterSet,
    /// Those that they neither use nor change there, but may need later.
    rest: RegisterSet,
    /// Those that they may have changed, and are needed where they come together.
    after: RegisterSet,
}

/// Some blocks and those that are reached from them before `join`.
fn blocks_from(graph: &ir::Graph, from: &[usize], join: Option<usize>) -> Vec<usize> {
    let mut blocks: Vec<usize> = from.to_vec();
    for &block in from {
        for reached in between(graph, block, join) {
            if !blocks.contains(&reached) {
                blocks.push(reached);
            }
        }
    }
    blocks
}
