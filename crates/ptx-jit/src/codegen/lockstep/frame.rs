//! The record of a warp, behind which its registers lie while they are not in the machine's.
//!
//! A register has a cell for each lane there, next to each other: a warp stores all of them as vectors,
//! and a thread that goes on by itself finds its own.

use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, StackSlot, StackSlotData, StackSlotKind};
use cranelift_codegen::ir::{Type, Value, types};
use ptx::{Register, RegisterType};

use super::registers::vectors;
use crate::abi::WarpRecord;
use crate::codegen::emitter::Emitter;
use crate::codegen::thread::ThreadCode;
use crate::codegen::types::register_type;
use crate::codegen::vector::{FramePlace, Lanes};
use crate::ir::{FrameLayout, Lockstep, cell_bytes};

/// The record of the warp whose code is lowered, and the cells of its registers behind it.
#[derive(Clone, Copy)]
pub(super) struct WarpFrame<'a> {
    layout: &'a FrameLayout,
    record: Value,
}

impl<'a> WarpFrame<'a> {
    pub(super) fn new(plan: &'a Lockstep, record: Value) -> WarpFrame<'a> {
        WarpFrame { layout: &plan.resumable.layout, record }
    }

    pub(super) fn record(self) -> Value {
        self.record
    }

    /// Finds the record again in the pinned register, where control may come from other warps' code.
    pub(super) fn find_record(&mut self, t: &mut ThreadCode<'_>) {
        self.record = t.e.ins().get_pinned_reg(types::I64);
        let threads = offset_of!(WarpRecord, threads);
        let thread = t.e.load_constant(types::I64, self.record, threads);
        t.pointers.set_thread(thread, (self.record, offset_of!(WarpRecord, linear)));
    }

    /// Stores a value so far into the record.
    pub(super) fn store(self, e: &mut Emitter<'_>, value: Value, offset: usize) {
        e.ins().store(MemFlagsData::trusted(), value, self.record, offset as i32);
    }

    /// Loads a value from so far into the record.
    pub(super) fn load(self, e: &mut Emitter<'_>, ty: Type, offset: usize) -> Value {
        e.ins().load(ty, MemFlagsData::trusted(), self.record, offset as i32)
    }

    /// The place of a register's cells.
    pub(super) fn cells(self, register: Register) -> FramePlace {
        let offset = size_of::<WarpRecord>() as i32 + self.layout.slot(register);
        FramePlace { base: self.record, offset }
    }
}

/// Memory of the function for loops over lanes: slots with a cell of up to 64 bits for each lane.
#[derive(Default)]
pub(super) struct LaneSlots {
    slots: Vec<StackSlot>,
}

impl LaneSlots {
    /// The slot of that number, which is used for something else as soon as a loop has ended.
    pub(super) fn slot(&mut self, e: &mut Emitter<'_>, index: usize) -> StackSlot {
        while self.slots.len() <= index {
            // 32 cells of 8 bytes, at a multiple of 16.
            let data = StackSlotData::new(StackSlotKind::ExplicitSlot, 256, 4);
            self.slots.push(e.builder().create_sized_stack_slot(data));
        }
        self.slots[index]
    }
}

/// The address of a lane's cell in a slot.
pub(super) fn cell_address(
    e: &mut Emitter<'_>,
    slot: StackSlot,
    lane: Value,
    class: RegisterType,
) -> Value {
    let start = e.ins().stack_addr(types::I64, slot, 0);
    let distance = e.ins().imul_imm_s(lane, cell_bytes(class) as i64);
    e.ins().iadd(start, distance)
}

/// Stores vectors into cells.
pub(super) fn store_vectors(e: &mut Emitter<'_>, lanes: &Lanes, start: Value, offset: i32) {
    for (index, &value) in lanes.values.iter().enumerate() {
        let offset = offset + 16 * index as i32;
        e.ins().store(MemFlagsData::trusted(), value, start, offset);
    }
}

/// Loads the vectors of a register from its cells.
pub(super) fn load_vectors(
    e: &mut Emitter<'_>,
    class: RegisterType,
    start: Value,
    offset: i32,
) -> Lanes {
    let (ty, count) = vectors(class);
    let flags = MemFlagsData::trusted();
    let values = (0..count as i32).map(|index| e.ins().load(ty, flags, start, offset + 16 * index));
    Lanes { values: values.collect() }
}

/// One lane's value from its cell.
pub(super) fn load_cell(
    e: &mut Emitter<'_>,
    class: RegisterType,
    start: Value,
    offset: i32,
) -> Value {
    let flags = MemFlagsData::trusted();
    if class == RegisterType::Predicate {
        let mask = e.ins().load(types::I32, flags, start, offset);
        return e.truth(mask);
    }
    e.ins().load(register_type(class), flags, start, offset)
}
