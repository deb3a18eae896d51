//! Special registers, and moves.

use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{Axis, Instruction, LaneRelation, ScalarType, SpecialRegister, WordHalf};

use super::function::Lowering;
use super::value::{integer_type, register_type};
use crate::abi::{Helper, KernelContext};

impl Lowering<'_, '_> {
    /// The value of a special register, 32 or 64 bits wide.
    pub(super) fn special(&mut self, special: SpecialRegister) -> Value {
        use SpecialRegister::*;
        match special {
            ThreadIndex(axis) => self.thread_index(axis as usize),
            BlockExtent(axis) => self.extent(offset_of!(KernelContext, block), axis),
            BlockIndex(axis) => self.extent(offset_of!(KernelContext, block_index), axis),
            GridExtent(axis) => self.extent(offset_of!(KernelContext, grid), axis),
            Lane => self.lane(),
            Warp => {
                let linear = self.linear_index();
                self.builder.ins().ushr_imm_u(linear, 5)
            }
            WarpCount => self.warp_count(),
            LaneMask(relation) => self.lane_mask(relation),
            Clock => self.clock(0),
            ClockHigh => self.clock(32),
            Clock64 => self.helper(Helper::Clock, &[]),
            GlobalTimer => self.helper(Helper::GlobalTimer, &[]),
            GlobalTimerLow => self.timer(0),
            GlobalTimerHigh => self.timer(32),
            Multiprocessor | Grid => self.int(types::I32, 0),
            MultiprocessorCount => self.int(types::I32, 1),
            DynamicSharedBytes => {
                self.context_word(offset_of!(KernelContext, dynamic_shared_bytes))
            }
            Workspace(half) => self.workspace(half),
            TotalSharedBytes => self.context_word(offset_of!(KernelContext, total_shared_bytes)),
        }
    }

    /// `mov` of one value.
    pub(super) fn mov(&mut self, instruction: &Instruction, ty: ScalarType) {
        let value = self.source(instruction, 0, ty);
        self.define(instruction, 0, value, ty);
    }

    /// `mov d, {a, b, ..}`.
    pub(super) fn pack(&mut self, instruction: &Instruction) {
        let Some(register) = self.destination(instruction) else {
            return;
        };
        let whole = self.code.function.registers[register.index()].bits();
        let part = whole / instruction.sources.len() as u32;
        let ty = integer_type(whole);
        let mut joined = self.int(ty, 0);
        for index in 0..instruction.sources.len() {
            let value = self.source(instruction, index, ScalarType::untyped(part));
            let wide = self.resize(value, ty, false);
            let placed = self.builder.ins().ishl_imm_u(wide, i64::from(part) * index as i64);
            joined = self.builder.ins().bor(joined, placed);
        }
        self.write(register, joined, false);
    }

    /// `mov {a, b, ..}, s`.
    pub(super) fn unpack(&mut self, instruction: &Instruction) {
        let Some(first) = instruction.destinations.iter().copied().flatten().next() else {
            return;
        };
        let part = register_type(self.code.function.registers[first.index()]).as_int();
        let whole = part.bits() * instruction.destinations.len() as u32;
        let value = self.source(instruction, 0, ScalarType::untyped(whole));
        for (index, destination) in instruction.destinations.iter().enumerate() {
            if let Some(register) = *destination {
                let shifted =
                    self.builder.ins().ushr_imm_u(value, i64::from(part.bits()) * index as i64);
                let low = self.resize(shifted, part, false);
                self.write(register, low, false);
            }
        }
    }

    /// A half of what the driver puts behind the kernel's parameters.
    fn workspace(&mut self, half: WordHalf) -> Value {
        let Some(offset) = self.unit.kernel.workspace else {
            unreachable!("a kernel that asks for the workspace has a place for its address");
        };
        let parameters = self.context_pointer(offset_of!(KernelContext, parameters));
        let offset = offset + if half == WordHalf::High { 4 } else { 0 };
        self.load_constant(types::I32, parameters, offset)
    }

    fn thread_index(&mut self, axis: usize) -> Value {
        match self.place {
            Some(place) => self.builder.use_var(place[axis + 1]),
            None => {
                let (base, linear) = self.indices;
                self.load_constant(types::I32, base, linear + 4 + 4 * axis)
            }
        }
    }

    fn linear_index(&mut self) -> Value {
        match self.place {
            Some(place) => self.builder.use_var(place[0]),
            None => self.load_constant(types::I32, self.indices.0, self.indices.1),
        }
    }

    fn extent(&mut self, offset: usize, axis: Axis) -> Value {
        self.context_word(offset + 4 * axis as usize)
    }

    fn lane(&mut self) -> Value {
        let linear = self.linear_index();
        self.builder.ins().band_imm_u(linear, 31)
    }

    fn warp_count(&mut self) -> Value {
        let [x, y, z] = [Axis::X, Axis::Y, Axis::Z]
            .map(|axis| self.extent(offset_of!(KernelContext, block), axis));
        let plane = self.builder.ins().imul(x, y);
        let threads = self.builder.ins().imul(plane, z);
        let rounded = self.builder.ins().iadd_imm_s(threads, 31);
        self.builder.ins().ushr_imm_u(rounded, 5)
    }

    fn lane_mask(&mut self, relation: LaneRelation) -> Value {
        let lane = self.lane();
        let ones = self.int(types::I32, -1);
        let one = self.int(types::I32, 1);
        match relation {
            LaneRelation::Equal => self.builder.ins().ishl(one, lane),
            LaneRelation::GreaterEqual => self.builder.ins().ishl(ones, lane),
            LaneRelation::Greater => {
                let from = self.builder.ins().ishl(ones, lane);
                self.builder.ins().ishl_imm_u(from, 1)
            }
            LaneRelation::Less => {
                let from = self.builder.ins().ishl(ones, lane);
                self.builder.ins().bnot(from)
            }
            LaneRelation::LessEqual => {
                let from = self.builder.ins().ishl(ones, lane);
                let above = self.builder.ins().ishl_imm_u(from, 1);
                self.builder.ins().bnot(above)
            }
        }
    }

    fn clock(&mut self, shift: i64) -> Value {
        let clock = self.helper(Helper::Clock, &[]);
        let part = self.builder.ins().ushr_imm_u(clock, shift);
        self.builder.ins().ireduce(types::I32, part)
    }

    fn timer(&mut self, shift: i64) -> Value {
        let timer = self.helper(Helper::GlobalTimer, &[]);
        let part = self.builder.ins().ushr_imm_u(timer, shift);
        self.builder.ins().ireduce(types::I32, part)
    }
}
