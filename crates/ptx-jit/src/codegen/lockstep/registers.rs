//! Registers of a warp: as one value, as lanes, and as cells of the frame.

use cranelift_codegen::ir::{ConstantData, InstBuilder, MemFlagsData, Type, Value, types};
use ptx::control_flow::RegisterSet;
use ptx::{Operand, Register, RegisterType, ScalarType};

use super::{Lanes, WarpLowering, vector};
use crate::abi::WarpRecord;
use crate::codegen::value::register_type;
use crate::ir::{LaneStrides, Uniformity, cell_bytes};

/// The vectors that hold a register of a class: their type and number.
pub(super) fn vectors(class: RegisterType) -> (Type, usize) {
    let ty = vector::vector_type(class.scalar());
    (ty, vector::LANES / ty.lane_count() as usize)
}

impl WarpLowering<'_, '_> {
    /// The value that all lanes share, or the first lane's.
    pub(super) fn shared(&mut self, register: Register) -> Value {
        let variable = self.one.registers[register.index()];
        self.builder().use_var(variable)
    }

    pub(super) fn set_shared(&mut self, register: Register, value: Value) {
        let variable = self.one.registers[register.index()];
        self.builder().def_var(variable, value);
    }

    pub(super) fn set_lanes(&mut self, register: Register, lanes: &Lanes) {
        for (index, &value) in lanes.values.iter().enumerate() {
            let variable = self.vector_variable(register, index);
            self.builder().def_var(variable, value);
        }
    }

    fn vector_variable(
        &mut self,
        register: Register,
        index: usize,
    ) -> cranelift_frontend::Variable {
        if let Some(variables) = &self.vectors[register.index()] {
            return variables[index];
        }
        let (ty, count) = vectors(self.function().registers[register.index()]);
        let variables = (0..count).map(|_| self.builder().declare_var(ty)).collect();
        self.vectors[register.index()].insert(variables)[index]
    }

    /// A register's values in all lanes.
    pub(super) fn lanes(&mut self, register: Register) -> Lanes {
        let class = self.function().registers[register.index()];
        match self.kind(register) {
            Uniformity::Varying => {
                let (_, count) = vectors(class);
                let values = (0..count).map(|index| {
                    let variable = self.vector_variable(register, index);
                    self.builder().use_var(variable)
                });
                Lanes { values: values.collect() }
            }
            kind => {
                let value = self.shared(register);
                self.spread(value, kind, class)
            }
        }
    }

    /// The lanes of a value that they share or, if affine, that of the first lane.
    pub(super) fn spread(&mut self, value: Value, kind: Uniformity, class: RegisterType) -> Lanes {
        let ty = class.scalar();
        match kind {
            Uniformity::Affine(strides) => {
                let first = vector::splat(self.builder(), value, ty);
                let offsets = self.offsets(strides, class);
                let sums = first.values.iter().zip(offsets.values);
                let sums = sums.map(|(&first, offset)| self.builder().ins().iadd(first, offset));
                Lanes { values: sums.collect() }
            }
            _ => vector::splat(self.builder(), value, ty),
        }
    }

    /// The distances of the lanes from the first one.
    fn offsets(&mut self, strides: LaneStrides, class: RegisterType) -> Lanes {
        let (ty, count) = vectors(class);
        let width = ty.lane_type().bytes() as usize;
        let per_vector = ty.lane_count() as i64;
        let shape = self.plan.uniformity.shape();
        let values = (0..count as i64).map(|index| {
            let lanes = per_vector * index..per_vector * (index + 1);
            let bytes: Vec<u8> = lanes
                .flat_map(|lane| strides.at(lane, shape).to_le_bytes().into_iter().take(width))
                .collect();
            let constant = self.builder().func.dfg.constants.insert(ConstantData::from(bytes));
            self.builder().ins().vconst(ty, constant)
        });
        Lanes { values: values.collect() }
    }

    /// An operand's values in all lanes; nothing if each lane must find its own.
    pub(super) fn operand_lanes(&mut self, operand: Operand, ty: ScalarType) -> Option<Lanes> {
        match operand {
            Operand::Register(register) => {
                let class = self.function().registers[register.index()];
                if self.kind(register) == Uniformity::Uniform {
                    let value = self.one.read(register, ty);
                    return Some(vector::splat(self.builder(), value, ty));
                }
                let lanes = self.lanes(register);
                Some(vector::read(self.builder(), &lanes, class, ty))
            }
            Operand::Negated(register) => {
                let lanes = self.lanes(register);
                let not = lanes.values.iter().map(|&mask| self.builder().ins().bnot(mask));
                Some(Lanes { values: not.collect() })
            }
            Operand::Immediate(bits) => Some(vector::constant(self.builder(), bits, ty)),
            _ => match self.plan.uniformity.operand(self.function(), operand) {
                Some(Uniformity::Uniform) => {
                    let value = self.one.operand(operand, ty);
                    Some(vector::splat(self.builder(), value, ty))
                }
                Some(kind @ Uniformity::Affine(_)) if ty.bits() == 32 => {
                    let value = self.one.operand(operand, ScalarType::B32);
                    let lanes = self.spread(value, kind, RegisterType::Bits32);
                    Some(vector::read(self.builder(), &lanes, RegisterType::Bits32, ty))
                }
                _ => None,
            },
        }
    }

    /// The place of a register's cells, as a distance from the record.
    fn cells(&self, register: Register) -> i32 {
        size_of::<WarpRecord>() as i32 + self.plan.resumable.layout.slot(register)
    }

    /// Puts registers into the cells of all lanes, as threads find them.
    pub(super) fn store_lanes(&mut self, registers: &RegisterSet) {
        let record = self.record;
        for register in registers.iter() {
            let offset = self.cells(register);
            let lanes = self.lanes(register);
            self.store_vectors(&lanes, record, offset);
        }
    }

    pub(super) fn store_vectors(&mut self, lanes: &Lanes, place: Value, offset: i32) {
        for (index, &value) in lanes.values.iter().enumerate() {
            let offset = offset + 16 * index as i32;
            self.builder().ins().store(MemFlagsData::trusted(), value, place, offset);
        }
    }

    pub(super) fn load_vectors(&mut self, class: RegisterType, place: Value, offset: i32) -> Lanes {
        let (ty, count) = vectors(class);
        let flags = MemFlagsData::trusted();
        let values = (0..count as i32)
            .map(|index| self.builder().ins().load(ty, flags, place, offset + 16 * index));
        Lanes { values: values.collect() }
    }

    /// Puts registers where the warp itself finds them again: what is kept once into the first
    /// lane's cell, and what can be had again nowhere.
    pub(super) fn keep_registers(&mut self, registers: &RegisterSet) {
        let record = self.record;
        for register in self.plan.rematerializable.others(registers).iter() {
            let offset = self.cells(register);
            if self.kind(register) == Uniformity::Varying {
                let lanes = self.lanes(register);
                self.store_vectors(&lanes, record, offset);
                continue;
            }
            let mut value = self.shared(register);
            if self.function().registers[register.index()] == RegisterType::Predicate {
                value = self.builder().ins().bmask(types::I32, value);
            }
            self.builder().ins().store(MemFlagsData::trusted(), value, record, offset);
        }
    }

    /// Takes back what the warp has kept.
    pub(super) fn take_registers_back(&mut self, registers: &RegisterSet) {
        let plan = self.plan;
        self.load_registers(&plan.rematerializable.others(registers));
        let function = self.function();
        for at in plan.rematerializable.instructions_for(function, registers) {
            self.one.operation(&function.body[at]);
        }
    }

    /// Takes registers back from their cells, whether the warp or its threads put them there.
    pub(super) fn load_registers(&mut self, registers: &RegisterSet) {
        let record = self.record;
        for register in registers.iter() {
            let offset = self.cells(register);
            let class = self.function().registers[register.index()];
            if self.kind(register) == Uniformity::Varying {
                let lanes = self.load_vectors(class, record, offset);
                self.set_lanes(register, &lanes);
                continue;
            }
            let value = self.load_cell(class, record, offset);
            self.set_shared(register, value);
        }
    }

    /// One lane's value from its cell.
    pub(super) fn load_cell(&mut self, class: RegisterType, place: Value, offset: i32) -> Value {
        let flags = MemFlagsData::trusted();
        if class == RegisterType::Predicate {
            let mask = self.builder().ins().load(types::I32, flags, place, offset);
            return self.one.truth(mask);
        }
        self.builder().ins().load(register_type(class), flags, place, offset)
    }

    /// Where the cell of a lane lies, from the first one.
    pub(super) fn cell_distance(&mut self, lane: Value, class: RegisterType) -> Value {
        self.builder().ins().imul_imm_s(lane, cell_bytes(class) as i64)
    }
}
