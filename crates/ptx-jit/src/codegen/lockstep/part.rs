//! Lanes that leave the lockstep: from a branch to where its ways come together, or for good.

use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::control_flow::{ControlFlowGraph, RegisterSet, reads};

use super::WarpLowering;
use crate::abi::{DIVERGED, Helper, WarpRecord};
use crate::codegen::function::Point;
use crate::ir::{self, between};

/// Stands for a way that leads straight to where the others come.
const THERE: i64 = 0;

impl WarpLowering<'_, '_> {
    /// The index of the point where a block begins, from 1 on: the state of threads there.
    fn point(&mut self, block: usize, stops: bool) -> i64 {
        let next = self.places.points.len();
        let index = *self.point_of.entry(block).or_insert(next);
        if index == next {
            self.places.points.push(Point { block, stops, warp_state: 0 });
        }
        self.places.points[index].stops |= stops;
        if stops && self.places.points[index].warp_state == 0 {
            let (entry, state) = self.resumption(None);
            self.places.points[index].warp_state = state;
            self.rejoining.push((entry, block));
        }
        index as i64 + 1
    }

    /// Fills the blocks where warps whose threads have all come to a point go on in lockstep.
    pub(super) fn rejoin(&mut self) {
        for (entry, block) in std::mem::take(&mut self.rejoining) {
            self.begin(entry);
            let plan = self.plan;
            self.load_registers(plan.resumable.liveness.live_in(block));
            self.refuel();
            let head = self.one.blocks[block];
            self.builder().ins().jump(head, &[]);
        }
    }

    /// The lanes in `bits` go to the block `target`, the others to `next`: each goes on by itself
    /// to where the ways come together.
    pub(super) fn part(&mut self, bits: Value, target: usize, next: usize) {
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
        let parted = self.one.int(types::I32, i64::from(DIVERGED));
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
fn blocks_from(graph: &ControlFlowGraph, from: &[usize], join: Option<usize>) -> Vec<usize> {
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
