//! The end of a sweep over the warps of a chain: whether all have ended, or have come to the barrier,
//! and the beginning of the next sweep.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::WarpLowering;
use crate::abi::{FINISHED, Helper, KernelContext, SUSPENDED, WarpRecord};

/// So many sweeps over all warps are made between two looks at whether the launch is to end.
const SWEEPS: i64 = 256;

impl WarpLowering<'_, '_> {
    /// All warps have had their turn; or the only one, if the scheduler runs one at a time.
    pub(super) fn end_sweep(&mut self) {
        if !self.takes_turns {
            return self.one.return_status(FINISHED);
        }
        let [chained, alone, finished, unfinished] =
            [(); 4].map(|()| self.builder().create_block());
        let ended = self.load_counter(offset_of!(KernelContext, ended));
        let flag = self.is_chained();
        self.builder().ins().brif(flag, chained, &[], alone, &[]);
        self.builder().switch_to_block(alone);
        let [has_ended, waits] =
            [FINISHED, SUSPENDED].map(|status| self.one.int(types::I32, i64::from(status)));
        let status = self.builder().ins().select(ended, has_ended, waits);
        self.one.give_back(status);

        self.builder().switch_to_block(chained);
        let warps = self.one.context_word(offset_of!(KernelContext, warp_count));
        let all_ended = self.builder().ins().icmp(IntCC::Equal, ended, warps);
        self.builder().ins().brif(all_ended, finished, &[], unfinished, &[]);
        self.builder().switch_to_block(finished);
        self.one.return_status(FINISHED);
        self.builder().switch_to_block(unfinished);
        self.open_barrier(ended, warps);
        self.begin_sweep();
    }

    /// Lets the warps at the barrier go on if all have come there, and else marks them. Most often
    /// there is nothing to do for that: all have come and none is marked, or none has come.
    fn open_barrier(&mut self, ended: Value, warps: Value) {
        let elsewhere = self.load_counter(offset_of!(KernelContext, elsewhere));
        let zero = self.one.int(types::I32, 0);
        for counter in [offset_of!(KernelContext, ended), offset_of!(KernelContext, elsewhere)] {
            self.store_counter(zero, counter);
        }
        let not_there = self.builder().ins().iadd(ended, elsewhere);
        let none_is_there = self.builder().ins().icmp(IntCC::Equal, not_there, warps);
        let opens = self.builder().ins().icmp_imm_u(IntCC::Equal, elsewhere, 0);
        let marked = self.load_counter(offset_of!(KernelContext, marked));
        let unmarked = self.builder().ins().icmp_imm_u(IntCC::Equal, marked, 0);
        let all_are_there = self.builder().ins().band(opens, unmarked);
        let usual = self.builder().ins().bor(none_is_there, all_are_there);
        let [mark, done] = [(); 2].map(|()| self.builder().create_block());
        self.builder().set_cold_block(mark);
        self.builder().ins().brif(usual, done, &[], mark, &[]);
        self.builder().switch_to_block(mark);
        let opens = self.one.resize(opens, types::I32, false);
        let context = self.one.context;
        self.one.call_cold_helper(Helper::Sweep, &[context, opens]);
        self.builder().ins().jump(done, &[]);
        self.builder().switch_to_block(done);
    }

    /// Begins again with the first warp; from time to time, looks whether the launch is to end.
    fn begin_sweep(&mut self) {
        let head = self.head;
        let [look, go_on] = [(); 2].map(|()| self.builder().create_block());
        let sweeps = self.load_counter(offset_of!(KernelContext, sweeps));
        let sweeps = self.builder().ins().iadd_imm_s(sweeps, 1);
        self.store_counter(sweeps, offset_of!(KernelContext, sweeps));
        let rest = self.builder().ins().band_imm_u(sweeps, SWEEPS - 1);
        self.builder().ins().brif(rest, go_on, &[], look, &[]);
        self.builder().switch_to_block(look);
        let first = self.one.context_pointer(offset_of!(KernelContext, warps));
        let thread = self.one.load_constant(types::I64, first, offset_of!(WarpRecord, threads));
        let arguments = [self.one.context, thread];
        let stop = self.one.cold_helper(Helper::Poll, &arguments);
        let fault = self.one.fault;
        self.builder().ins().brif(stop, fault, &[], go_on, &[]);
        self.builder().switch_to_block(go_on);
        let first = self.one.context_pointer(offset_of!(KernelContext, warps));
        self.builder().ins().set_pinned_reg(first);
        self.builder().ins().jump(head, &[]);
    }
}
