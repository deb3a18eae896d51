//! The code of a warp while it is made, as each instruction's lowering finds it.

use std::mem::offset_of;

use cranelift_codegen::ir::{self as clif, InstBuilder, MemFlagsData, Value};
use cranelift_frontend::FunctionBuilderContext;
use ptx::control_flow::RegisterSet;

use super::access_groups::AccessGroups;
use super::frame::{LaneSlots, WarpFrame};
use super::registers::WarpRegisters;
use super::resume::WarpResumption;
use crate::abi::KernelContext;
use crate::codegen::flow::ControlFlow;
use crate::codegen::module_builder::FunctionScope;
use crate::codegen::records::CodeRecords;
use crate::codegen::thread::{ThreadCode, begin};
use crate::ir;

/// The parts that the lowering of a warp's instruction works on.
pub(super) struct WarpCode<'a> {
    /// The code of one lane. Its registers are those that all lanes share, and the first lane's of
    /// affine ones; in loops over lanes also those of the lane.
    pub(super) t: ThreadCode<'a>,
    pub(super) flow: ControlFlow<'a>,
    pub(super) plan: &'a ir::Lockstep,
    pub(super) registers: WarpRegisters<'a>,
    pub(super) resumption: WarpResumption,
    pub(super) records: &'a mut CodeRecords,
    pub(super) slots: LaneSlots,
    /// The accesses of the current block that are checked together.
    pub(super) groups: AccessGroups,
}

impl<'a> WarpCode<'a> {
    pub(super) fn new(
        scope: FunctionScope<'a>,
        function: &'a mut clif::Function,
        builder_context: &'a mut FunctionBuilderContext,
        plan: &'a ir::Lockstep,
    ) -> WarpCode<'a> {
        let code = &plan.resumable.code;
        let (t, flow, records) = begin(scope, function, builder_context, code, false);
        WarpCode {
            // The second parameter of code for warps is the warp's record.
            registers: WarpRegisters::new(plan, t.pointers.thread()),
            resumption: WarpResumption::new(),
            slots: LaneSlots::default(),
            groups: AccessGroups::default(),
            t,
            flow,
            plan,
            records,
        }
    }

    /// Begins with a block to which control comes from several warps.
    pub(super) fn begin(&mut self, block: clif::Block) {
        self.t.e.switch_to_block(block);
        self.find_record();
    }

    /// Finds the warp's record, where control may come from other warps' code.
    pub(super) fn find_record(&mut self) {
        self.registers.find_record(&mut self.t);
    }

    /// The warp's record, with the registers' cells.
    pub(super) fn frame(&self) -> WarpFrame<'a> {
        self.registers.frame()
    }

    /// Returns a status that the scheduler sees to, and which warp it is of.
    pub(super) fn return_to_scheduler(&mut self, status: Value) {
        let (context, record) = (self.t.pointers.context(), self.frame().record());
        let offset = offset_of!(KernelContext, running) as i32;
        self.t.e.ins().store(MemFlagsData::trusted(), record, context, offset);
        self.t.exits.return_value(&mut self.t.e, status);
    }

    /// Puts registers into the cells of all lanes, as threads find them.
    pub(super) fn store_lanes(&mut self, registers: &RegisterSet) {
        self.registers.store_lanes(&mut self.t, registers);
    }

    /// Takes registers back from their cells.
    pub(super) fn load_registers(&mut self, registers: &RegisterSet) {
        self.registers.load(&mut self.t, registers);
    }

    /// Keeps registers where the warp itself finds them again.
    pub(super) fn keep_registers(&mut self, registers: &RegisterSet) {
        self.registers.keep(&mut self.t, registers);
    }

    /// Takes back what the warp has kept.
    pub(super) fn take_registers_back(&mut self, registers: &RegisterSet) {
        self.registers.take_back(&mut self.t, registers);
    }
}
