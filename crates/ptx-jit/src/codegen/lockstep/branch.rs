//! Branches of a warp, and the ends of loops' rounds.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, InstBuilder, Value};
use ptx::{Instruction, Operation, ScalarType};

use super::WarpLowering;
use super::divergence::{diverge, diverge_here};
use super::lane_loop::ActiveLanes;
use super::round_robin::walks_memory;
use super::short_region::{is_short_path, run_short_path};
use super::suspend::give_way;
use super::uniform_predicate::DivergentLanes;
use crate::abi::Helper;
use crate::codegen::thread::leave;
use crate::codegen::vector;

impl WarpLowering<'_> {
    pub(super) fn branch(&mut self, instruction: &Instruction) {
        let target = self.w.flow.target(instruction.sources[0]);
        let Some(guard) = instruction.guard else {
            return self.jump_to(target);
        };
        let next = self.w.flow.current() + 1;
        if !self.w.registers.is_varying(guard.register) {
            let holds = self.w.t.get(guard.register);
            let (taken, other) = (self.edge(target), self.edge(next));
            let (yes, no) = if guard.negated { (other, taken) } else { (taken, other) };
            self.w.t.e.branch(holds, yes, no);
            return self.finish_edges(&[(taken, target), (other, next)]);
        }
        let (taken, other) = (self.edge(target), self.edge(next));
        let mut lanes = DivergentLanes::Unknown;
        if let Some(known) = self.predicates.guard(&mut self.w, guard) {
            let e = &mut self.w.t.e;
            let [uniform, divergent] = e.create_blocks();
            e.set_cold_block(divergent);
            e.branch(known.is_uniform, uniform, divergent);
            e.switch_to_block(uniform);
            e.branch(known.truth, taken, other);
            e.switch_to_block(divergent);
            lanes = known.lanes;
        }
        let bits = lanes.bits(&mut self.w.t.e).unwrap_or_else(|| {
            let mask = self.w.registers.mask(&mut self.w.t, guard);
            vector::bits(self.w.t.e.builder(), &mask)
        });
        let e = &mut self.w.t.e;
        let [some, mixed] = e.create_blocks();
        e.branch(bits, some, other);
        e.switch_to_block(some);
        let all = e.ins().icmp_imm_s(IntCC::Equal, bits, -1);
        e.branch(all, taken, mixed);
        e.switch_to_block(mixed);
        if !self.take_short_paths(bits, lanes, target, next) {
            let join = diverge(&mut self.w, bits, target, next);
            self.reconverge(join);
        }
        self.finish_edges(&[(taken, target), (other, next)]);
    }

    /// Runs the paths of the lanes in `bits`, to `target`, and of the others, to `next`, inside this
    /// function; whether they are short enough for that.
    fn take_short_paths(
        &mut self,
        bits: Value,
        lanes: DivergentLanes,
        target: usize,
        next: usize,
    ) -> bool {
        let Some(join) = self.w.plan.joins[self.w.flow.current()] else {
            return false;
        };
        let fits = |block: usize| block == join || is_short_path(&self.w, block, join);
        if !fits(target) || !fits(next) {
            return false;
        }
        let only = |taken: bool| match lanes {
            DivergentLanes::OneLane(lane, truth) if truth == taken => Some(ActiveLanes::One(lane)),
            _ => None,
        };
        if target != join {
            let active = only(true).unwrap_or(ActiveLanes::Bits(bits));
            run_short_path(&mut self.w, target, join, active);
        }
        if next != join {
            let active = only(false).unwrap_or_else(|| {
                let others = self.w.t.e.ins().bnot(bits);
                ActiveLanes::Bits(others)
            });
            run_short_path(&mut self.w, next, join, active);
        }
        self.jump_to(join);
        true
    }

    pub(super) fn branch_table(&mut self, instruction: &Instruction) {
        let block = self.w.flow.current();
        let graph = &self.w.flow.code().graph;
        if self.w.plan.uniformity.diverges(self.w.registers.function(), graph, block) {
            let join = diverge_here(&mut self.w);
            return self.reconverge(join);
        }
        let next = block + 1;
        let (mut edges, past) = (Vec::new(), self.edge(next));
        edges.push((past, next));
        if let Some(guard) = instruction.guard {
            let table = self.w.t.e.create_block();
            let holds = self.w.t.get(guard.register);
            let (yes, no) = if guard.negated { (past, table) } else { (table, past) };
            self.w.t.e.branch(holds, yes, no);
            self.w.t.e.switch_to_block(table);
        }
        let index = self.w.t.source(instruction, 0, ScalarType::U32);
        for &source in &instruction.sources[1..] {
            let target = self.w.flow.target(source);
            edges.push((self.edge(target), target));
        }
        let targets = edges[1..].iter().map(|&(edge, _)| edge);
        self.w.t.e.branch_table(index, targets, past);
        self.finish_edges(&edges);
    }

    /// `ret`, `exit`, `trap`.
    pub(super) fn leave(&mut self, instruction: &Instruction) {
        let w = &mut self.w;
        let guard = instruction.guard.filter(|guard| w.registers.is_varying(guard.register));
        let Some(guard) = guard else {
            return leave(&mut w.t, &w.flow, instruction);
        };
        let end = w.t.exits.end();
        let next = w.flow.next_block(end);
        let mask = w.registers.mask(&mut w.t, guard);
        let any = vector::any(w.t.e.builder(), &mask);
        let some = w.t.e.create_block();
        w.t.e.branch(any, some, next);
        w.t.e.switch_to_block(some);
        if instruction.operation != Operation::Trap {
            let all = vector::all(w.t.e.builder(), &mask);
            let mixed = w.t.e.create_block();
            w.t.e.set_cold_block(mixed);
            w.t.e.branch(all, end, mixed);
            w.t.e.switch_to_block(mixed);
        }
        let join = diverge_here(w);
        self.reconverge(join);
    }

    /// Goes on with all lanes, after each was by itself, at the block where their paths come together;
    /// or at the end.
    pub(super) fn reconverge(&mut self, join: Option<usize>) {
        match join {
            Some(join) => self.jump_to(join),
            None => self.w.t.e.jump(self.w.t.exits.end()),
        }
    }

    fn jump_to(&mut self, target: usize) {
        let edge = self.edge(target);
        self.w.t.e.jump(edge);
        self.finish_edges(&[(edge, target)]);
    }

    fn edge(&mut self, target: usize) -> clif::Block {
        let w = &mut self.w;
        w.flow.edge(&mut w.t.e, target, w.t.exits.end())
    }

    /// Fills the blocks that were made for edges that go back. The end of a loop's round may go on with
    /// another warp, so each begins with finding its record.
    fn finish_edges(&mut self, edges: &[(clif::Block, usize)]) {
        for &(edge, target) in edges {
            if self.w.flow.goes_back(target) {
                self.w.begin(edge);
                self.back_edge(target);
            }
        }
    }

    /// A round of a loop ends: from time to time, look whether the launch is to end, or let other
    /// warps go on.
    fn back_edge(&mut self, target: usize) {
        let WarpLowering { w, turns, .. } = self;
        let spins = w.flow.may_spin(target, w.t.spaces.kernel());
        // A loop that waits for others must come to where it lets them go on.
        if !spins && walks_memory(w, target) {
            turns.count_round(w, target);
        }
        let head = w.flow.block(target);
        w.flow.spend(&mut w.t.e, head);
        if spins {
            give_way(w, turns, w.plan.resumable.liveness.live_in(target));
        } else {
            let arguments = [w.t.pointers.context(), w.t.pointers.thread()];
            let stop = w.t.e.cold_helper(Helper::Poll, &arguments);
            let go_on = w.t.e.create_block();
            w.t.e.branch(stop, w.t.exits.fault(), go_on);
            w.t.e.switch_to_block(go_on);
        }
        w.flow.refuel(&mut w.t.e);
        w.t.e.jump(head);
    }
}
