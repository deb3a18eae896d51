//! The warps of a block one after the other, without a way back to the scheduler: each goes on to
//! the next one where it ends, where it waits at the block's barrier, and every so often in loops
//! that walk memory, so that the block goes through it together.
//!
//! Whatever else happens is the scheduler's affair (`exec::lockstep`): the function returns, and
//! from then on runs one warp at a time until the block ends.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

use super::WarpLowering;
use crate::exec::runtime::Helper;
use crate::exec::state::{Context, ENDED, FINISHED, FIRST_PHASE, NOWHERE, WarpRecord};
use crate::ptx::{Operation, StateSpace};

/// So many sweeps over all warps are made between two looks at whether the launch is to end.
const SWEEPS: i64 = 256;

/// So many rounds of a loop that walks memory a warp makes before it is the next one's turn.
pub(super) const TURN: i64 = 4;

impl WarpLowering<'_, '_> {
    /// Begins with a warp of the chain.
    pub(super) fn begin_warp(&mut self) {
        let head = self.head;
        self.builder().switch_to_block(head);
        self.record = self.builder().block_params(head)[0];
        let record = self.record;
        let threads = offset_of!(WarpRecord, threads);
        self.one.thread = self.one.load_constant(types::I64, record, threads);
    }

    /// Passes over a warp that has ended, or that still waits, and counts it.
    pub(super) fn pass_over(&mut self, counter: usize) {
        self.count(counter);
        self.go_to_next_warp();
    }

    /// Where a warp goes on behind the barrier: passes over it while that has not opened.
    pub(super) fn pass_over_unless_open(&mut self) {
        let [waits, opened] = [(); 2].map(|()| self.builder().create_block());
        let progress = self.load_from_record(offset_of!(WarpRecord, progress));
        let phase = self.load_counter(offset_of!(Context, phase));
        let is_waiting = self.builder().ins().icmp(IntCC::Equal, progress, phase);
        self.builder().ins().brif(is_waiting, waits, &[], opened, &[]);
        self.builder().switch_to_block(waits);
        self.pass_over(offset_of!(Context, arrived));
        self.builder().switch_to_block(opened);
    }

    /// The warp has ended.
    pub(super) fn end_warp(&mut self) {
        let (chained, alone) = (self.builder().create_block(), self.builder().create_block());
        let flag = self.is_chained();
        self.builder().ins().brif(flag, chained, &[], alone, &[]);
        self.builder().switch_to_block(alone);
        self.one.return_status(FINISHED);
        self.builder().switch_to_block(chained);
        if self.takes_turns {
            let ended = self.one.int(types::I32, i64::from(ENDED));
            self.store_to_record(ended, offset_of!(WarpRecord, progress));
            let nowhere = self.one.int(types::I32, i64::from(NOWHERE));
            self.store_to_record(nowhere, offset_of!(WarpRecord, state));
            return self.pass_over(offset_of!(Context, ended));
        }
        self.go_to_next_warp();
    }

    fn go_to_next_warp(&mut self) {
        let (advance, record) = (self.advance, self.record);
        self.builder().ins().jump(advance, &[record.into()]);
    }

    /// Whether all warps of the block are run in a chain.
    pub(super) fn is_chained(&mut self) -> Value {
        self.load_counter(offset_of!(Context, chained))
    }

    /// Leaves the warp for now, to go on in a state; its registers are stored. At the barrier, it
    /// goes on when all are there.
    pub(super) fn take_turn(&mut self, state: Value, at_barrier: bool) {
        self.store_to_record(state, offset_of!(WarpRecord, state));
        if at_barrier {
            let phase = self.load_counter(offset_of!(Context, phase));
            self.store_to_record(phase, offset_of!(WarpRecord, progress));
            self.count(offset_of!(Context, arrived));
        }
        self.go_to_next_warp();
    }

    /// Goes on to the next warp, and after the last one to the first that has something to do.
    pub(super) fn finish_chain(&mut self) {
        let (advance, head) = (self.advance, self.head);
        let last = self.builder().create_block();
        self.builder().switch_to_block(advance);
        let record = self.builder().block_params(advance)[0];
        let next = self.builder().ins().iadd_imm_s(record, size_of::<WarpRecord>() as i64);
        let end = self.one.context_pointer(offset_of!(Context, warps_end));
        let is_last = self.builder().ins().icmp(IntCC::Equal, next, end);
        self.builder().ins().brif(is_last, last, &[], head, &[next.into()]);

        self.builder().switch_to_block(last);
        if !self.takes_turns {
            return self.one.return_status(FINISHED);
        }
        let [finished, unfinished, opens, again, look, go_on] =
            [(); 6].map(|()| self.builder().create_block());
        let ended = self.load_counter(offset_of!(Context, ended));
        let arrived = self.load_counter(offset_of!(Context, arrived));
        let zero = self.one.int(types::I32, 0);
        for counter in [offset_of!(Context, ended), offset_of!(Context, arrived)] {
            self.store_counter(zero, counter);
        }
        let warps = self.one.context_word(offset_of!(Context, warp_count));
        let all_ended = self.builder().ins().icmp(IntCC::Equal, ended, warps);
        self.builder().ins().brif(all_ended, finished, &[], unfinished, &[]);
        self.builder().switch_to_block(finished);
        self.one.return_status(FINISHED);

        self.builder().switch_to_block(unfinished);
        let done = self.builder().ins().iadd(ended, arrived);
        let all_there = self.builder().ins().icmp(IntCC::Equal, done, warps);
        self.builder().ins().brif(all_there, opens, &[], again, &[]);
        self.builder().switch_to_block(opens);
        self.count(offset_of!(Context, phase));
        self.builder().ins().jump(again, &[]);

        self.builder().switch_to_block(again);
        let sweeps = self.load_counter(offset_of!(Context, sweeps));
        let sweeps = self.builder().ins().iadd_imm_s(sweeps, 1);
        self.store_counter(sweeps, offset_of!(Context, sweeps));
        let rest = self.builder().ins().band_imm_u(sweeps, SWEEPS - 1);
        self.builder().ins().brif(rest, go_on, &[], look, &[]);
        self.builder().switch_to_block(look);
        let first = self.one.context_pointer(offset_of!(Context, warps));
        let thread = self.one.load_constant(types::I64, first, offset_of!(WarpRecord, threads));
        let arguments = [self.one.context, thread];
        let stop = self.one.cold_helper(Helper::Poll, &arguments);
        let fault = self.one.fault;
        self.builder().ins().brif(stop, fault, &[], go_on, &[]);
        self.builder().switch_to_block(go_on);
        let first = self.one.context_pointer(offset_of!(Context, warps));
        self.builder().ins().jump(head, &[first.into()]);
    }

    /// Returns a status that the scheduler sees to, and which warp it is of.
    pub(super) fn return_to_scheduler(&mut self, status: Value) {
        let (context, record) = (self.one.context, self.record);
        let offset = offset_of!(Context, running) as i32;
        self.builder().ins().store(MemFlagsData::trusted(), record, context, offset);
        self.builder().ins().return_(&[status]);
    }

    /// Whether the loop from a block to the current instruction walks global memory.
    pub(super) fn walks_memory(&self, target: usize) -> bool {
        let code = &self.plan.resumable.code;
        let start = code.graph.blocks[target].instructions.start;
        code.function.body[start..=self.one.at].iter().any(|at| match at.operation {
            Operation::Load(form) | Operation::Store(form) => {
                matches!(form.space, StateSpace::Global | StateSpace::Generic)
            }
            _ => false,
        })
    }

    fn load_from_record(&mut self, offset: usize) -> Value {
        let record = self.record;
        self.builder().ins().load(types::I32, MemFlagsData::trusted(), record, offset as i32)
    }

    fn load_counter(&mut self, offset: usize) -> Value {
        let context = self.one.context;
        self.builder().ins().load(types::I32, MemFlagsData::trusted(), context, offset as i32)
    }

    fn store_counter(&mut self, value: Value, offset: usize) {
        let context = self.one.context;
        self.builder().ins().store(MemFlagsData::trusted(), value, context, offset as i32);
    }

    fn count(&mut self, offset: usize) {
        let counter = self.load_counter(offset);
        let next = self.builder().ins().iadd_imm_s(counter, 1);
        self.store_counter(next, offset);
    }
}

const _: () = assert!(FIRST_PHASE > ENDED, "a warp that has ended waits at no barrier");
