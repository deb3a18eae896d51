//! The registers of a warp, whose lanes share a value, have it at equal distances, or each its own.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::Variable;
use ptx::control_flow::RegisterSet;
use ptx::{Function, Guard, Operand, Operation, Register, RegisterType, ScalarType, Suspension};
use smallvec::SmallVec;

use super::frame::{WarpFrame, load_cell, load_vectors, store_vectors};
use crate::codegen::emitter::Emitter;
use crate::codegen::thread::{ThreadCode, operation};
use crate::codegen::vector::{self, FramePlace, Lanes};
use crate::ir::{self, LaneStrides, Lockstep, Uniformity};

/// The registers as vectors. What all lanes share, and the first lane's value of what is affine, is in
/// the registers of the [`ThreadCode`]; vectors of those are made where one is needed.
pub(super) struct WarpRegisters<'a> {
    plan: &'a Lockstep,
    frame: WarpFrame<'a>,
    /// The varying registers that always lie in the frame: in code that multiplies matrices, those that live
    /// longer than a block. The functions that multiply want them in memory, and there are many more of
    /// them than the host has registers.
    in_frame: RegisterSet,
    /// The vectors of the other varying registers, declared when first used.
    vectors: Vec<Option<SmallVec<[Variable; 16]>>>,
}

impl<'a> WarpRegisters<'a> {
    pub(super) fn new(plan: &'a Lockstep, record: Value) -> WarpRegisters<'a> {
        let ir::Resumable { code, layout, .. } = &plan.resumable;
        let count = code.function.registers.len();
        let multiplies = code.function.body.iter().any(|instruction| {
            matches!(instruction.operation, Operation::Suspend(Suspension::Multiply(_)))
        });
        let mut in_frame = RegisterSet::empty(count);
        if multiplies {
            let varies = |&register: &Register| plan.uniformity.of(register) == Uniformity::Varying;
            layout.kept().filter(varies).for_each(|register| in_frame.insert(register));
        }
        let frame = WarpFrame::new(plan, record);
        WarpRegisters { plan, frame, in_frame, vectors: vec![None; count] }
    }

    /// The warp's record, with the registers' cells.
    pub(super) fn frame(&self) -> WarpFrame<'a> {
        self.frame
    }

    /// Finds the record again, where control may come from other warps' code.
    pub(super) fn find_record(&mut self, t: &mut ThreadCode<'_>) {
        self.frame.find_record(t);
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
                if let Some(FramePlace { base, offset }) = self.home(register) {
                    return load_vectors(&mut t.e, class, base, offset);
                }
                let values = (0..vectors(class).1).map(|index| {
                    let variable = self.variable(&mut t.e, register, index);
                    t.e.builder().use_var(variable)
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
        if let Some(FramePlace { base, offset }) = self.home(register) {
            return store_vectors(e, lanes, base, offset);
        }
        for (index, &value) in lanes.values.iter().enumerate() {
            let variable = self.variable(e, register, index);
            e.builder().def_var(variable, value);
        }
    }

    /// The place in which a register always lies, if it does.
    pub(super) fn home(&self, register: Register) -> Option<FramePlace> {
        self.in_frame.contains(register).then(|| self.frame.cells(register))
    }

    /// Puts registers into the cells of all lanes, as threads find them.
    pub(super) fn store_lanes(&mut self, t: &mut ThreadCode<'_>, registers: &RegisterSet) {
        for register in self.without_homes(registers).iter() {
            let lanes = self.lanes(t, register);
            let FramePlace { base, offset } = self.frame.cells(register);
            store_vectors(&mut t.e, &lanes, base, offset);
        }
    }

    /// Puts registers where the warp itself finds them again: what is kept once into the first
    /// lane's cell, and what can be had again nowhere.
    pub(super) fn keep(&mut self, t: &mut ThreadCode<'_>, registers: &RegisterSet) {
        let kept = self.plan.rematerializable.others(registers);
        for register in self.without_homes(&kept).iter() {
            let FramePlace { base, offset } = self.frame.cells(register);
            if self.is_varying(register) {
                let lanes = self.lanes(t, register);
                store_vectors(&mut t.e, &lanes, base, offset);
                continue;
            }
            let mut value = t.get(register);
            if self.class(register) == RegisterType::Predicate {
                value = t.e.ins().bmask(types::I32, value);
            }
            t.e.ins().store(MemFlagsData::trusted(), value, base, offset);
        }
    }

    /// Takes back what the warp has kept, and computes again what it has not.
    pub(super) fn take_back(&mut self, t: &mut ThreadCode<'_>, registers: &RegisterSet) {
        let plan = self.plan;
        self.load(t, &plan.rematerializable.others(registers));
        let function = self.function();
        for at in plan.rematerializable.instructions_for(function, registers) {
            operation(t, &function.body[at]);
        }
    }

    /// Takes registers back from their cells, whether the warp or its threads put them there.
    pub(super) fn load(&mut self, t: &mut ThreadCode<'_>, registers: &RegisterSet) {
        for register in self.without_homes(registers).iter() {
            let FramePlace { base, offset } = self.frame.cells(register);
            let class = self.class(register);
            if self.is_varying(register) {
                let lanes = load_vectors(&mut t.e, class, base, offset);
                self.set(&mut t.e, register, &lanes);
                continue;
            }
            let value = load_cell(&mut t.e, class, base, offset);
            t.set(register, value);
        }
    }

    /// The registers of a set without those that always lie in the frame.
    fn without_homes(&self, registers: &RegisterSet) -> RegisterSet {
        registers.without(&self.in_frame)
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
