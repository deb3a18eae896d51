//! A thread's cells: where its registers lie while other threads run.
//!
//! Between two waits most registers are neither read nor written: the sums of a tile, say, while its
//! factors are exchanged. So a register is loaded where it is first read after a wait, and stored before
//! the next one only if it was written.

use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use ptx::control_flow::{RegisterSet, reads};
use ptx::{Instruction, Register, RegisterType};

use super::code::ThreadCode;
use crate::abi::ThreadRecord;
use crate::codegen::types::register_type;
use crate::ir::{FrameLayout, cell_bytes};

/// The thread's cells in its warp's frame, and what the code that is lowered knows of them.
pub(super) struct Cells<'a> {
    layout: &'a FrameLayout,
    /// Registers whose cells hold their values.
    stored: RegisterSet,
    /// Registers whose values are in their cells only.
    absent: RegisterSet,
    /// The addresses of the thread's cells of 2, 4 and 8 bytes in a slot at the frame's beginning, once
    /// they are known.
    columns: [Option<Value>; 3],
}

impl<'a> Cells<'a> {
    /// Cells of which nothing is known.
    pub(super) fn new(layout: &'a FrameLayout, registers: usize) -> Cells<'a> {
        let none = RegisterSet::empty(registers);
        Cells { layout, stored: none.clone(), absent: none, columns: [None; 3] }
    }

    /// Goes on with code that is reached from several places: nothing is known of the cells, and all
    /// values are in registers of the machine.
    pub(super) fn forget(&mut self) {
        self.stored.clear();
        self.absent.clear();
        self.columns = [None; 3];
    }

    /// Stores the registers that live while the thread waits.
    pub(super) fn store(&mut self, t: &mut ThreadCode<'_>, live: &RegisterSet) {
        for register in live.iter() {
            if self.stored.contains(register) {
                continue;
            }
            let mut value = t.get(register);
            if t.registers.class(register) == RegisterType::Predicate {
                value = t.e.ins().bmask(types::I32, value);
            }
            let (column, slot) = self.cell(t, register);
            t.e.ins().store(MemFlagsData::trusted(), value, column, slot);
        }
    }

    /// Goes on behind a wait, where these registers lie in their cells only.
    pub(super) fn leave_in(&mut self, live: &RegisterSet) {
        self.stored.clone_from(live);
        self.absent.clone_from(live);
        self.columns = [None; 3];
    }

    /// Loads what an instruction needs. One with a guard may leave its destinations as they are.
    pub(super) fn fetch_for(&mut self, t: &mut ThreadCode<'_>, instruction: &Instruction) {
        for register in reads(instruction) {
            self.fetch(t, register);
        }
        if instruction.guard.is_some() {
            for &register in instruction.destinations.iter().flatten() {
                self.fetch(t, register);
            }
        }
    }

    /// Loads all that is not loaded yet.
    pub(super) fn fetch_all(&mut self, t: &mut ThreadCode<'_>) {
        let absent = self.absent.clone();
        for register in absent.iter() {
            self.fetch(t, register);
        }
    }

    /// Notes that an instruction has written its destinations.
    pub(super) fn note_writes(&mut self, instruction: &Instruction) {
        for &register in instruction.destinations.iter().flatten() {
            self.stored.remove(register);
            self.absent.remove(register);
        }
    }

    fn fetch(&mut self, t: &mut ThreadCode<'_>, register: Register) {
        if !self.absent.contains(register) {
            return;
        }
        self.absent.remove(register);
        let class = t.registers.class(register);
        let ty = match class {
            RegisterType::Predicate => types::I32,
            class => register_type(class),
        };
        let (column, slot) = self.cell(t, register);
        let mut value = t.e.ins().load(ty, MemFlagsData::trusted(), column, slot);
        if class == RegisterType::Predicate {
            value = t.e.truth(value);
        }
        t.set(register, value);
    }

    /// The place of the cell of a register: an address and an offset.
    fn cell(&mut self, t: &mut ThreadCode<'_>, register: Register) -> (Value, i32) {
        let scale = cell_bytes(t.registers.class(register)).ilog2();
        let column = &mut self.columns[scale as usize - 1];
        let column = *column.get_or_insert_with(|| {
            let thread = t.pointers.thread();
            let frame = t.e.load_constant(types::I64, thread, offset_of!(ThreadRecord, frame));
            let linear = t.e.load_constant(types::I32, thread, offset_of!(ThreadRecord, linear));
            let lane = t.e.ins().band_imm_u(linear, 31);
            let lane = t.e.ins().uextend(types::I64, lane);
            let distance = t.e.ins().ishl_imm_u(lane, i64::from(scale));
            t.e.ins().iadd(frame, distance)
        });
        (column, self.layout.slot(register))
    }
}
