//! The code of one thread while it is made, as each instruction's lowering finds it.

use cranelift_codegen::ir::{InstBuilder, Value};
use ptx::control_flow::RegisterSet;
use ptx::{Instruction, Operand, Register, ScalarType};

use super::exits::Exits;
use super::pointers::BasePointers;
use super::registers::RegisterFile;
use super::spaces::StateSpaces;
use super::special::special;
use crate::abi::CheckLevel;
use crate::codegen::emitter::Emitter;
use crate::codegen::types::{integer_type, machine_type};
use crate::ir::{self, KernelIr};

/// The parts that the lowering of a thread's instruction works on. In code for warps it is one lane's, and
/// its registers are those that all lanes share, and the first lane's of affine ones.
pub(in crate::codegen) struct ThreadCode<'a> {
    pub(in crate::codegen) e: Emitter<'a>,
    pub(in crate::codegen) registers: RegisterFile<'a>,
    pub(in crate::codegen) pointers: BasePointers,
    pub(in crate::codegen) spaces: StateSpaces<'a>,
    pub(in crate::codegen) exits: Exits,
    /// Registers of which more than the value is seen.
    observed: RegisterSet,
    /// The line in the PTX text of the instruction that is lowered.
    pub(in crate::codegen) line: u32,
    /// The host address of the instruction's access, if that is known to be allowed.
    pub(in crate::codegen) checked_place: Option<Value>,
}

impl<'a> ThreadCode<'a> {
    /// Code that begins in the current block of a function with these pointers.
    pub(super) fn new(
        mut e: Emitter<'a>,
        pointers: BasePointers,
        (kernel, code): (&'a KernelIr, &'a ir::FunctionIr),
        check: CheckLevel,
        is_called: bool,
    ) -> ThreadCode<'a> {
        let function = &*code.function;
        ThreadCode {
            registers: RegisterFile::new(&mut e, &function.registers),
            exits: Exits::new(&mut e, is_called),
            spaces: StateSpaces::new(kernel, function, check),
            observed: ir::observed_bits(function),
            line: 0,
            checked_place: None,
            e,
            pointers,
        }
    }

    /// A source of an instruction as a value of a type.
    pub(in crate::codegen) fn source(
        &mut self,
        instruction: &Instruction,
        index: usize,
        ty: ScalarType,
    ) -> Value {
        self.operand(instruction.sources[index], ty)
    }

    /// An operand as a value of a type.
    pub(in crate::codegen) fn operand(&mut self, operand: Operand, ty: ScalarType) -> Value {
        let (e, p) = (&mut self.e, &self.pointers);
        match operand {
            Operand::Register(register) => self.registers.read(e, register, ty),
            Operand::Negated(register) => {
                let value = self.registers.read(e, register, ScalarType::Pred);
                e.ins().bxor_imm_u(value, 1)
            }
            Operand::Immediate(bits) => e.constant(ty, bits),
            Operand::Special(register) => {
                let value = special(e, p, self.spaces.kernel(), register);
                let value = e.resize(value, integer_type(ty.bits()), false);
                e.cast(value, machine_type(ty))
            }
            Operand::AddressOf(variable, offset) => {
                let address = self.spaces.address_of(e, p, variable, offset);
                e.resize(address, integer_type(ty.bits()), false)
            }
            Operand::Memory(_) | Operand::Variable(_) | Operand::Target(_) => {
                unreachable!("the parser puts values where operations expect them")
            }
        }
    }

    /// Writes a value of a type into a destination, extended to the register's width.
    pub(in crate::codegen) fn define(
        &mut self,
        instruction: &Instruction,
        index: usize,
        value: Value,
        ty: ScalarType,
    ) {
        if let Some(register) = instruction.destinations.get(index).copied().flatten() {
            self.registers.write(&mut self.e, register, value, ty.is_signed());
        }
    }

    /// A register's value, of the machine type of its class.
    pub(in crate::codegen) fn get(&mut self, register: Register) -> Value {
        self.registers.get(&mut self.e, register)
    }

    /// Sets a register to a value of the machine type of its class.
    pub(in crate::codegen) fn set(&mut self, register: Register, value: Value) {
        self.registers.set(&mut self.e, register, value);
    }

    /// Whether something looks at the bits of an instruction's result and not only at its value.
    pub(in crate::codegen) fn is_observed(&self, instruction: &Instruction) -> bool {
        let destination = instruction.destinations.first().copied().flatten();
        destination.is_some_and(|register| self.observed.contains(register))
    }
}
