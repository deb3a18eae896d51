//! The ways out of a function.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, InstBuilder, StackSlot, StackSlotData, StackSlotKind};
use cranelift_codegen::ir::{Value, types};

use crate::abi::{EXITED, FAULTED};
use crate::codegen::emitter::Emitter;

/// The blocks for threads that have ended or were stopped, and what a function does before it returns.
pub(in crate::codegen) struct Exits {
    /// Whether the function is called by others, which are told that the thread has ended.
    is_called: bool,
    /// The slot that has the pinned register as the caller had it, if the function uses it.
    pinned: Option<StackSlot>,
    end: clif::Block,
    fault: clif::Block,
}

impl Exits {
    pub(super) fn new(e: &mut Emitter<'_>, is_called: bool) -> Exits {
        let (end, fault) = (e.create_block(), e.create_block());
        e.set_cold_block(fault);
        Exits { is_called, pinned: None, end, fault }
    }

    /// The block for threads that have ended.
    pub(in crate::codegen) fn end(&self) -> clif::Block {
        self.end
    }

    /// The block for threads that were stopped.
    pub(in crate::codegen) fn fault(&self) -> clif::Block {
        self.fault
    }

    /// Takes the pinned register for the function's own use. The caller finds it as it was.
    pub(in crate::codegen) fn take_pinned_register(&mut self, e: &mut Emitter<'_>) {
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
        let slot = e.builder().create_sized_stack_slot(slot);
        let before = e.ins().get_pinned_reg(types::I64);
        e.ins().stack_store(types::I64, before, slot, 0);
        self.pinned = Some(slot);
    }

    /// Returns a status.
    pub(in crate::codegen) fn return_value(&self, e: &mut Emitter<'_>, status: Value) {
        if let Some(slot) = self.pinned {
            let before = e.ins().stack_load(types::I64, types::I64, slot, 0);
            e.ins().set_pinned_reg(before);
        }
        e.ins().return_(&[status]);
    }

    pub(in crate::codegen) fn return_status(&self, e: &mut Emitter<'_>, status: u32) {
        let status = e.ins().iconst(types::I32, i64::from(status));
        self.return_value(e, status);
    }

    /// Fills the block for threads that were stopped.
    pub(in crate::codegen) fn fill_fault(&self, e: &mut Emitter<'_>) {
        e.switch_to_block(self.fault);
        self.return_status(e, FAULTED);
    }

    /// Leaves the function because the thread has ended.
    pub(super) fn exit_thread(&self, e: &mut Emitter<'_>) {
        match self.is_called {
            true => self.return_status(e, EXITED),
            false => e.jump(self.end),
        }
    }

    /// Goes on where a called function has returned; hands on that the thread ended or was stopped.
    pub(super) fn leave_on(&self, e: &mut Emitter<'_>, status: Value) {
        let (left, returned) = (e.create_block(), e.create_block());
        e.set_cold_block(left);
        e.branch(status, left, returned);
        e.switch_to_block(left);
        if self.is_called {
            self.return_value(e, status);
        } else {
            let faulted = e.ins().icmp_imm_u(IntCC::Equal, status, i64::from(FAULTED));
            e.branch(faulted, self.fault, self.end);
        }
        e.switch_to_block(returned);
    }
}
