//! The registers of a warp, whose lanes share a value, have it at equal distances, or each its own.

use cranelift_codegen::ir::{InstBuilder, StackSlot, Type, Value, types};
use cranelift_frontend::Variable;
use ptx::control_flow::{RegisterSet, reads};
use ptx::{Function, Guard, Operand, Operation, Register, RegisterType, ScalarType, Suspension};
use smallvec::SmallVec;

use crate::codegen::emitter::Emitter;
use crate::codegen::thread::ThreadCode;
use crate::codegen::vector::{self, Lanes};
use crate::ir::{LaneStrides, Lockstep, Uniformity};

/// The registers as vectors. What all lanes share, and the first lane's value of what is affine, is in
/// the registers of the [`ThreadCode`]; vectors of those are made where one is needed.
pub(super) struct WarpRegisters<'a> {
    plan: &'a Lockstep,
    /// The vectors of varying registers, declared when first used.
    vectors: Vec<Option<SmallVec<[Variable; 16]>>>,
    /// Registers that products of matrices take or give. The functions that multiply want them in memory,
    /// and there are more of them than the host has registers.
    of_matrices: RegisterSet,
    /// The memory of those, allotted when first used.
    homes: Vec<Option<StackSlot>>,
}

impl<'a> WarpRegisters<'a> {
    pub(super) fn new(plan: &'a Lockstep) -> WarpRegisters<'a> {
        let function = &plan.resumable.code.function;
        let count = function.registers.len();
        let mut of_matrices = RegisterSet::empty(count);
        for instruction in &function.body {
            if matches!(instruction.operation, Operation::Suspend(Suspension::Multiply(_))) {
                let results = instruction.destinations.iter().copied().flatten();
                reads(instruction).into_iter().chain(results).for_each(|register| {
                    of_matrices.insert(register);
                });
            }
        }
        WarpRegisters { plan, vectors: vec![None; count], of_matrices, homes: vec![None; count] }
    }

    pub(super) fn function(&self) -> &'a Function {
        &self.plan.resumable.code.function
    }

    /// The uniformity of a register: how the lanes' values differ.
    pub(super) fn uniformity(&self, register: Register) -> Uniformity {
        self.plan.uniformity.of(register)
    }

    /// Whether each lane has a value of its own.
    pub(super) fn is_varying(&self, register: Register) -> bool {
        self.uniformity(register) == Uniformity::Varying
    }

    /// Whether all lanes have the same value of an operand.
    pub(super) fn is_uniform(&self, operand: Operand) -> bool {
        self.plan.uniformity.operand(self.function(), operand) == Some(Uniformity::Uniform)
    }

    /// The type that a register is declared with.
    pub(super) fn class(&self, register: Register) -> RegisterType {
        self.function().registers[register.index()]
    }

    /// A register's values in all lanes.
    pub(super) fn lanes(&mut self, t: &mut ThreadCode<'_>, register: Register) -> Lanes {
        let class = self.class(register);
        match self.uniformity(register) {
            Uniformity::Varying => {
                let (ty, count) = vectors(class);
                let home = self.home(&mut t.e, register);
                let values = (0..count).map(|index| match home {
                    Some(home) => t.e.ins().stack_load(types::I64, ty, home, 16 * index as i32),
                    None => {
                        let variable = self.variable(&mut t.e, register, index);
                        t.e.builder().use_var(variable)
                    }
                });
                Lanes { values: values.collect() }
            }
            uniformity => {
                let value = t.get(register);
                self.spread(&mut t.e, value, uniformity, class)
            }
        }
    }

    /// Sets the vectors of a varying register.
    pub(super) fn set(&mut self, e: &mut Emitter<'_>, register: Register, lanes: &Lanes) {
        let home = self.home(e, register);
        for (index, &value) in lanes.values.iter().enumerate() {
            match home {
                Some(home) => {
                    e.ins().stack_store(types::I64, value, home, 16 * index as i32);
                }
                None => {
                    let variable = self.variable(e, register, index);
                    e.builder().def_var(variable, value);
                }
            }
        }
    }

    /// The memory in which a varying register always lies, if it does.
    pub(super) fn home(&mut self, e: &mut Emitter<'_>, register: Register) -> Option<StackSlot> {
        if !self.of_matrices.contains(register) || !self.is_varying(register) {
            return None;
        }
        let (ty, count) = vectors(self.class(register));
        let home = &mut self.homes[register.index()];
        Some(*home.get_or_insert_with(|| vector::memory_for(e.builder(), ty, count)))
    }

    /// Writes lanes of a type into a varying register, where the guard holds.
    pub(super) fn write(
        &mut self,
        t: &mut ThreadCode<'_>,
        register: Register,
        lanes: &Lanes,
        ty: ScalarType,
        guard: Option<Guard>,
    ) {
        let class = self.class(register);
        let mut lanes = vector::write(t.e.builder(), lanes, ty, class);
        if let Some(guard) = guard {
            let mask = self.mask(t, guard);
            let old = self.lanes(t, register);
            lanes = vector::select(t.e.builder(), &mask, &lanes, &old, class.scalar());
        }
        debug_assert!(self.is_varying(register));
        self.set(&mut t.e, register, &lanes);
    }

    /// The lanes in which a guard holds.
    pub(super) fn mask(&mut self, t: &mut ThreadCode<'_>, guard: Guard) -> Lanes {
        let lanes = self.lanes(t, guard.register);
        match guard.negated {
            true => complement(&mut t.e, &lanes),
            false => lanes,
        }
    }

    /// An operand's values in all lanes; nothing if each lane must find its own.
    pub(super) fn operand(
        &mut self,
        t: &mut ThreadCode<'_>,
        operand: Operand,
        ty: ScalarType,
    ) -> Option<Lanes> {
        match operand {
            Operand::Register(register) => {
                let class = self.class(register);
                if self.uniformity(register) == Uniformity::Uniform {
                    let value = t.registers.read(&mut t.e, register, ty);
                    return Some(vector::splat(t.e.builder(), value, ty));
                }
                let lanes = self.lanes(t, register);
                Some(vector::read(t.e.builder(), &lanes, class, ty))
            }
            Operand::Negated(register) => {
                let lanes = self.lanes(t, register);
                Some(complement(&mut t.e, &lanes))
            }
            Operand::Immediate(bits) => Some(vector::constant(t.e.builder(), bits, ty)),
            _ => match self.plan.uniformity.operand(self.function(), operand) {
                Some(Uniformity::Uniform) => {
                    let value = t.operand(operand, ty);
                    Some(vector::splat(t.e.builder(), value, ty))
                }
                Some(uniformity @ Uniformity::Affine(_)) if ty.bits() == 32 => {
                    let value = t.operand(operand, ScalarType::B32);
                    let lanes = self.spread(&mut t.e, value, uniformity, RegisterType::Bits32);
                    Some(vector::read(t.e.builder(), &lanes, RegisterType::Bits32, ty))
                }
                _ => None,
            },
        }
    }

    /// The lanes of a value that they share or, if affine, that of the first lane.
    pub(super) fn spread(
        &self,
        e: &mut Emitter<'_>,
        value: Value,
        uniformity: Uniformity,
        class: RegisterType,
    ) -> Lanes {
        let ty = class.scalar();
        match uniformity {
            Uniformity::Affine(strides) => {
                let first = vector::splat(e.builder(), value, ty);
                let offsets = self.offsets(e, strides, class);
                let sums = first.values.iter().zip(offsets.values);
                let sums = sums.map(|(&first, offset)| e.ins().iadd(first, offset));
                Lanes { values: sums.collect() }
            }
            _ => vector::splat(e.builder(), value, ty),
        }
    }

    /// The distances of the lanes from the first one.
    fn offsets(&self, e: &mut Emitter<'_>, strides: LaneStrides, class: RegisterType) -> Lanes {
        let shape = self.plan.uniformity.shape();
        vector::constants(e.builder(), vectors(class).0, |lane| strides.at(lane, shape))
    }

    fn variable(&mut self, e: &mut Emitter<'_>, register: Register, index: usize) -> Variable {
        if let Some(variables) = &self.vectors[register.index()] {
            return variables[index];
        }
        let (ty, count) = vectors(self.class(register));
        let variables = (0..count).map(|_| e.builder().declare_var(ty)).collect();
        self.vectors[register.index()].insert(variables)[index]
    }
}

/// The vectors that hold a register of a class: their type and number.
pub(super) fn vectors(class: RegisterType) -> (Type, usize) {
    let ty = vector::vector_type(class.scalar());
    (ty, vector::LANES / ty.lane_count() as usize)
}

fn complement(e: &mut Emitter<'_>, mask: &Lanes) -> Lanes {
    let not = mask.values.iter().map(|&mask| e.ins().bnot(mask));
    Lanes { values: not.collect() }
}
