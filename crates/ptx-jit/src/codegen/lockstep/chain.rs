//! The warps of a block one after the other, without a way back to the scheduler: each goes on to
//! the next one where it ends, where it waits at the block's barrier, and every so often in loops
//! that walk memory, so that the block goes through it together.
//!
//! Whatever else happens is the scheduler's affair (`exec::lockstep`): the function returns, and
//! from then on runs one warp at a time until the block ends.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, InstBuilder, MemFlagsData, Value, types};
use ptx::{Operation, StateSpace};

use super::WarpLowering;
use crate::abi::{END, KernelContext, NOWHERE, WarpRecord, warp_stride};

/// So many rounds of a loop that walks memory a warp makes before it is the next one's turn.
pub(super) const TURN: i64 = 4;

impl WarpLowering<'_, '_> {
    /// Has the pinned register for the records of warps. In an ordinary one, a value that lives all
    /// through the function ends up in memory, and each warp's record follows from the one before.
    pub(super) fn pin_record(&mut self, record: Value) {
        let slot = clif::StackSlotData::new(clif::StackSlotKind::ExplicitSlot, 8, 3);
        let slot = self.builder().create_sized_stack_slot(slot);
        let before = self.builder().ins().get_pinned_reg(types::I64);
        self.builder().ins().stack_store(types::I64, before, slot, 0);
        self.one.pinned = Some(slot);
        self.builder().ins().set_pinned_reg(record);
    }

    /// Begins with a block to which one comes from several warps.
    pub(super) fn begin(&mut self, block: clif::Block) {
        self.builder().switch_to_block(block);
        self.find_record();
    }

    /// Finds the warp's record again.
    pub(super) fn find_record(&mut self) {
        let record = self.builder().ins().get_pinned_reg(types::I64);
        self.record = record;
        let threads = offset_of!(WarpRecord, threads);
        self.one.thread = self.one.load_constant(types::I64, record, threads);
        self.one.indices = (record, offset_of!(WarpRecord, linear));
    }

    /// Passes over a warp that has ended, or that still waits at the barrier; behind the last one
    /// the sweep ends.
    pub(super) fn pass_over(&mut self, state: Value) {
        let [over, others] = [(); 2].map(|()| self.builder().create_block());
        let ended = self.builder().ins().icmp_imm_u(IntCC::Equal, state, i64::from(NOWHERE));
        self.builder().ins().brif(ended, over, &[], others, &[]);
        self.builder().switch_to_block(others);
        let (last, advance) = (self.last, self.advance);
        let is_end = self.builder().ins().icmp_imm_u(IntCC::Equal, state, i64::from(END));
        self.builder().ins().brif(is_end, last, &[], advance, &[]);
        self.builder().switch_to_block(over);
        self.count_ended();
    }

    /// The warp has ended.
    pub(super) fn end_warp(&mut self) {
        if self.takes_turns {
            let nowhere = self.one.int(types::I32, i64::from(NOWHERE));
            self.store_to_record(nowhere, offset_of!(WarpRecord, state));
        }
        self.count_ended();
    }

    fn count_ended(&mut self) {
        if self.takes_turns {
            self.count(offset_of!(KernelContext, ended));
        }
        let advance = self.advance;
        self.builder().ins().jump(advance, &[]);
    }

    /// Whether all warps of the block are run in a chain.
    pub(super) fn is_chained(&mut self) -> Value {
        self.load_counter(offset_of!(KernelContext, chained))
    }

    /// Leaves the warp for now, to go on in a state; its registers are stored. The next warp mostly
    /// goes on there as well.
    pub(super) fn take_turn(&mut self, resumption: clif::Block, state: u32) {
        let state = self.one.int(types::I32, i64::from(state));
        let offset = offset_of!(WarpRecord, state);
        self.store_to_record(state, offset);
        let its_state = self.next_warp();
        let head = self.head;
        let same = self.builder().ins().icmp(IntCC::Equal, its_state, state);
        self.builder().ins().brif(same, resumption, &[], head, &[]);
    }

    /// Goes to the record of the next warp; its state.
    fn next_warp(&mut self) -> Value {
        let (record, flags) = (self.record, MemFlagsData::trusted());
        let stride = warp_stride(self.plan.resumable.layout.bytes) as i64;
        let next = self.builder().ins().iadd_imm_s(record, stride);
        self.builder().ins().set_pinned_reg(next);
        let offset = offset_of!(WarpRecord, state) as i32;
        self.builder().ins().load(types::I32, flags, next, offset)
    }

    /// Goes on to the next warp, and after the last one to the first that has something to do.
    pub(super) fn finish_chain(&mut self) {
        let (advance, last, head) = (self.advance, self.last, self.head);
        self.begin(advance);
        let state = self.next_warp();
        let is_end = self.builder().ins().icmp_imm_u(IntCC::Equal, state, i64::from(END));
        self.builder().ins().brif(is_end, last, &[], head, &[]);

        self.builder().switch_to_block(last);
        self.end_sweep();
    }

    /// Returns a status that the scheduler sees to, and which warp it is of.
    pub(super) fn return_to_scheduler(&mut self, status: Value) {
        let (context, record) = (self.one.context, self.record);
        let offset = offset_of!(KernelContext, running) as i32;
        self.builder().ins().store(MemFlagsData::trusted(), record, context, offset);
        self.one.give_back(status);
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

    pub(super) fn load_counter(&mut self, offset: usize) -> Value {
        let context = self.one.context;
        self.builder().ins().load(types::I32, MemFlagsData::trusted(), context, offset as i32)
    }

    pub(super) fn store_counter(&mut self, value: Value, offset: usize) {
        let context = self.one.context;
        self.builder().ins().store(MemFlagsData::trusted(), value, context, offset as i32);
    }

    pub(super) fn count(&mut self, offset: usize) {
        let counter = self.load_counter(offset);
        let next = self.builder().ins().iadd_imm_s(counter, 1);
        self.store_counter(next, offset);
    }
}
