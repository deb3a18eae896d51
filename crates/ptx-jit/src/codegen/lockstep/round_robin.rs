//! The warps of a block one after the other, without a way back to the scheduler: each goes on to
//! the next one where it ends, where it waits at the block's barrier, and every so often in loops
//! that walk memory, so that the block goes through it together.
//!
//! The block's context calls such warps a chain, and a round over them a sweep.
//!
//! Most blocks need no more than that, and a return to the scheduler for each warp and barrier would
//! cost more than the few instructions between two barriers of many kernels. Whatever else happens is
//! the scheduler's affair (`exec::lockstep`): the function returns, and from then on runs one warp at a
//! time until the block ends.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::Variable;
use ptx::{Operation, StateSpace};

use super::code::WarpCode;
use crate::abi::{
    END, FINISHED, Helper, KernelContext, NOWHERE, SUSPENDED, WarpRecord, warp_stride,
};

/// So many rounds of a loop that walks memory a warp makes before it is the next one's turn. The warps
/// of a block mostly walk neighbouring memory: in turns they find in the cache what the one before
/// loaded, and a turn costs only that live registers are kept and taken back.
const TURN: i64 = 4;

/// So many rounds over all warps are made between two looks at whether the launch is to end.
const ROUNDS: i64 = 256;

/// The turns of the warps of a block.
pub(super) struct RoundRobin {
    /// The block in which a warp begins or goes on.
    head: clif::Block,
    /// The block in which the next warp gets its turn.
    advance: clif::Block,
    /// The block in which a round over all warps ends.
    last: clif::Block,
    /// Whether warps take turns before they end.
    takes_turns: bool,
    /// Counts down to the next warp's turn in loops that walk memory.
    turns: Variable,
}

impl RoundRobin {
    pub(super) fn new(w: &mut WarpCode<'_>) -> RoundRobin {
        let [head, advance, last] = w.t.e.create_blocks();
        let turns = w.t.e.builder().declare_var(types::I32);
        RoundRobin { head, advance, last, takes_turns: w.plan.takes_turns(), turns }
    }

    /// Begins with the first warp: what is lowered next is executed for each.
    ///
    /// The pinned register has the warps' records. In an ordinary one, a value that lives all through
    /// the function ends up in memory, and each warp's record follows from the one before.
    pub(super) fn begin(&self, w: &mut WarpCode<'_>) {
        w.t.exits.take_pinned_register(&mut w.t.e);
        let record = w.frame().record();
        w.t.e.ins().set_pinned_reg(record);
        w.t.e.jump(self.head);
        w.begin(self.head);
        self.refuel(w);
    }

    /// Fills the fuel, and begins a turn.
    pub(super) fn refuel(&self, w: &mut WarpCode<'_>) {
        w.flow.refuel(&mut w.t.e);
        self.begin_turn(w);
    }

    fn begin_turn(&self, w: &mut WarpCode<'_>) {
        let full = w.t.e.int(types::I32, TURN);
        w.t.e.builder().def_var(self.turns, full);
    }

    /// Goes on where the warp was suspended, or at the start.
    pub(super) fn dispatch(&self, w: &mut WarpCode<'_>, start: clif::Block) {
        /// So many states are told apart one by one, which is quicker than a jump through a table.
        const FEW: usize = 6;
        if w.resumption.blocks().is_empty() && !self.takes_turns {
            return w.t.e.jump(start);
        }
        let state = w.frame().load(&mut w.t.e, types::I32, offset_of!(WarpRecord, state));
        let states = std::iter::once(start).chain(w.resumption.blocks().iter().copied());
        let nowhere = w.t.e.create_block();
        if w.resumption.blocks().len() < FEW {
            let states: Vec<clif::Block> = states.collect();
            // Later states are more often those in loops.
            for (index, &block) in states.iter().enumerate().rev() {
                let next = w.t.e.create_block();
                let here = w.t.e.ins().icmp_imm_u(IntCC::Equal, state, index as i64);
                w.t.e.branch(here, block, next);
                w.t.e.switch_to_block(next);
            }
            w.t.e.jump(nowhere);
        } else {
            w.t.e.branch_table(state, states, nowhere);
        }
        w.t.e.switch_to_block(nowhere);
        match self.takes_turns {
            true => self.pass_over(w, state),
            false => w.t.exits.return_status(&mut w.t.e, crate::abi::FAULTED),
        }
    }

    /// Passes over a warp that has ended, or that still waits at the barrier; behind the last one
    /// the round ends.
    fn pass_over(&self, w: &mut WarpCode<'_>, state: Value) {
        let [over, others] = w.t.e.create_blocks();
        let ended = w.t.e.ins().icmp_imm_u(IntCC::Equal, state, i64::from(NOWHERE));
        w.t.e.branch(ended, over, others);
        w.t.e.switch_to_block(others);
        let is_end = w.t.e.ins().icmp_imm_u(IntCC::Equal, state, i64::from(END));
        w.t.e.branch(is_end, self.last, self.advance);
        w.t.e.switch_to_block(over);
        self.count_ended(w);
    }

    /// The warp has ended.
    pub(super) fn end_warp(&self, w: &mut WarpCode<'_>) {
        if self.takes_turns {
            let nowhere = w.t.e.int(types::I32, i64::from(NOWHERE));
            w.frame().store(&mut w.t.e, nowhere, offset_of!(WarpRecord, state));
        }
        self.count_ended(w);
    }

    fn count_ended(&self, w: &mut WarpCode<'_>) {
        if self.takes_turns {
            count(w, offset_of!(KernelContext, ended));
        }
        w.t.e.jump(self.advance);
    }

    /// Leaves the warp for now, to go on in a state; its registers are stored. The next warp mostly
    /// goes on there as well.
    pub(super) fn take_turn(&self, w: &mut WarpCode<'_>, resumption: clif::Block, state: u32) {
        let state = w.t.e.int(types::I32, i64::from(state));
        w.frame().store(&mut w.t.e, state, offset_of!(WarpRecord, state));
        let its_state = next_warp(w);
        let same = w.t.e.ins().icmp(IntCC::Equal, its_state, state);
        w.t.e.branch(same, resumption, self.head);
    }

    /// A round of a loop that walks memory, which goes on with a block: after some, it is the next
    /// warp's turn.
    pub(super) fn count_round(&self, w: &mut WarpCode<'_>, target: usize) {
        let head = w.flow.block(target);
        let left = w.t.e.builder().use_var(self.turns);
        let left = w.t.e.ins().iadd_imm_s(left, -1);
        w.t.e.builder().def_var(self.turns, left);
        let empty = w.t.e.create_block();
        w.t.e.branch(left, head, empty);
        w.t.e.switch_to_block(empty);
        self.begin_turn(w);
        let [turn, stay] = w.t.e.create_blocks();
        let chained = load_counter(w, offset_of!(KernelContext, chained));
        w.t.e.branch(chained, turn, stay);
        w.t.e.switch_to_block(turn);
        let live = w.plan.resumable.liveness.live_in(target);
        w.keep_registers(live);
        let (resumption, state) = w.resumption.add(w.t.e.builder(), None);
        count(w, offset_of!(KernelContext, elsewhere));
        self.take_turn(w, resumption, state);
        self.go_on(w, resumption, live);
        w.t.e.jump(head);
        w.t.e.switch_to_block(stay);
        w.find_record();
    }

    /// Goes on with the code that is executed when the warp's turn comes again.
    pub(super) fn go_on(
        &self,
        w: &mut WarpCode<'_>,
        resumption: clif::Block,
        live: &ptx::control_flow::RegisterSet,
    ) {
        w.begin(resumption);
        w.take_registers_back(live);
        self.refuel(w);
    }

    /// Goes on to the next warp, and after the last one to the first that has something to do.
    pub(super) fn finish(&self, w: &mut WarpCode<'_>) {
        w.begin(self.advance);
        let state = next_warp(w);
        let is_end = w.t.e.ins().icmp_imm_u(IntCC::Equal, state, i64::from(END));
        w.t.e.branch(is_end, self.last, self.head);

        w.t.e.switch_to_block(self.last);
        self.end_round(w);
    }

    /// All warps have had their turn; or the only one, if the scheduler runs one at a time.
    fn end_round(&self, w: &mut WarpCode<'_>) {
        if !self.takes_turns {
            return w.t.exits.return_status(&mut w.t.e, FINISHED);
        }
        let [chained, alone, finished, unfinished] = w.t.e.create_blocks();
        let ended = load_counter(w, offset_of!(KernelContext, ended));
        let flag = load_counter(w, offset_of!(KernelContext, chained));
        w.t.e.branch(flag, chained, alone);
        w.t.e.switch_to_block(alone);
        let [has_ended, waits] =
            [FINISHED, SUSPENDED].map(|status| w.t.e.int(types::I32, i64::from(status)));
        let status = w.t.e.ins().select(ended, has_ended, waits);
        w.t.exits.return_value(&mut w.t.e, status);

        w.t.e.switch_to_block(chained);
        let warps = w.t.pointers.context_word(&mut w.t.e, offset_of!(KernelContext, warp_count));
        let all_ended = w.t.e.ins().icmp(IntCC::Equal, ended, warps);
        w.t.e.branch(all_ended, finished, unfinished);
        w.t.e.switch_to_block(finished);
        w.t.exits.return_status(&mut w.t.e, FINISHED);
        w.t.e.switch_to_block(unfinished);
        open_barrier(w, ended, warps);
        self.begin_round(w);
    }

    /// Begins again with the first warp; from time to time, looks whether the launch is to end.
    fn begin_round(&self, w: &mut WarpCode<'_>) {
        let [look, go_on] = w.t.e.create_blocks();
        let rounds = load_counter(w, offset_of!(KernelContext, sweeps));
        let rounds = w.t.e.ins().iadd_imm_s(rounds, 1);
        store_counter(w, rounds, offset_of!(KernelContext, sweeps));
        let rest = w.t.e.ins().band_imm_u(rounds, ROUNDS - 1);
        w.t.e.branch(rest, go_on, look);
        w.t.e.switch_to_block(look);
        let first = w.t.pointers.context_pointer(&mut w.t.e, offset_of!(KernelContext, warps));
        let thread = w.t.e.load_constant(types::I64, first, offset_of!(WarpRecord, threads));
        let stop = w.t.e.cold_helper(Helper::Poll, &[w.t.pointers.context(), thread]);
        w.t.e.branch(stop, w.t.exits.fault(), go_on);
        w.t.e.switch_to_block(go_on);
        let first = w.t.pointers.context_pointer(&mut w.t.e, offset_of!(KernelContext, warps));
        w.t.e.ins().set_pinned_reg(first);
        w.t.e.jump(self.head);
    }
}

/// Lets the warps at the barrier go on if all have come there, and else marks them. Most often
/// there is nothing to do for that: all have come and none is marked, or none has come.
fn open_barrier(w: &mut WarpCode<'_>, ended: Value, warps: Value) {
    let elsewhere = load_counter(w, offset_of!(KernelContext, elsewhere));
    let zero = w.t.e.int(types::I32, 0);
    for counter in [offset_of!(KernelContext, ended), offset_of!(KernelContext, elsewhere)] {
        store_counter(w, zero, counter);
    }
    let not_there = w.t.e.ins().iadd(ended, elsewhere);
    let none_is_there = w.t.e.ins().icmp(IntCC::Equal, not_there, warps);
    let opens = w.t.e.ins().icmp_imm_u(IntCC::Equal, elsewhere, 0);
    let marked = load_counter(w, offset_of!(KernelContext, marked));
    let unmarked = w.t.e.ins().icmp_imm_u(IntCC::Equal, marked, 0);
    let all_are_there = w.t.e.ins().band(opens, unmarked);
    let usual = w.t.e.ins().bor(none_is_there, all_are_there);
    let [mark, done] = w.t.e.create_blocks();
    w.t.e.set_cold_block(mark);
    w.t.e.branch(usual, done, mark);
    w.t.e.switch_to_block(mark);
    let opens = w.t.e.resize(opens, types::I32, false);
    w.t.e.call_cold_helper(Helper::Sweep, &[w.t.pointers.context(), opens]);
    w.t.e.jump(done);
    w.t.e.switch_to_block(done);
}

/// Whether the loop from a block to the current instruction walks global memory.
pub(super) fn walks_memory(w: &WarpCode<'_>, target: usize) -> bool {
    w.flow.round(target).iter().any(|at| match at.operation {
        Operation::Load(form) | Operation::Store(form) => {
            matches!(form.space, StateSpace::Global | StateSpace::Generic)
        }
        _ => false,
    })
}

/// Goes to the record of the next warp; its state.
fn next_warp(w: &mut WarpCode<'_>) -> Value {
    let stride = warp_stride(w.plan.resumable.layout.bytes) as i64;
    let record = w.frame().record();
    let next = w.t.e.ins().iadd_imm_s(record, stride);
    w.t.e.ins().set_pinned_reg(next);
    let offset = offset_of!(WarpRecord, state) as i32;
    w.t.e.ins().load(types::I32, MemFlagsData::trusted(), next, offset)
}

fn load_counter(w: &mut WarpCode<'_>, offset: usize) -> Value {
    let context = w.t.pointers.context();
    w.t.e.ins().load(types::I32, MemFlagsData::trusted(), context, offset as i32)
}

fn store_counter(w: &mut WarpCode<'_>, value: Value, offset: usize) {
    let context = w.t.pointers.context();
    w.t.e.ins().store(MemFlagsData::trusted(), value, context, offset as i32);
}

fn count(w: &mut WarpCode<'_>, offset: usize) {
    let counter = load_counter(w, offset);
    let next = w.t.e.ins().iadd_imm_s(counter, 1);
    store_counter(w, next, offset);
}
