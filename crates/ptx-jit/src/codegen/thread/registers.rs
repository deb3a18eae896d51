//! The registers of one thread as Cranelift's variables.

use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::Variable;
use ptx::{Register, RegisterType, ScalarType};

use crate::codegen::emitter::Emitter;
use crate::codegen::types::{machine_type, register_type};

/// A variable for each register of a function. Cranelift makes static single assignments of them.
pub(in crate::codegen) struct RegisterFile<'a> {
    types: &'a [RegisterType],
    variables: Vec<Variable>,
}

impl<'a> RegisterFile<'a> {
    pub(super) fn new(e: &mut Emitter<'_>, types: &'a [RegisterType]) -> RegisterFile<'a> {
        let variables = types.iter().map(|&ty| e.builder().declare_var(register_type(ty)));
        RegisterFile { types, variables: variables.collect() }
    }

    /// The type that a register is declared with.
    pub(in crate::codegen) fn class(&self, register: Register) -> RegisterType {
        self.types[register.index()]
    }

    /// A register's value, of the machine type of its class.
    pub(in crate::codegen) fn get(&self, e: &mut Emitter<'_>, register: Register) -> Value {
        e.builder().use_var(self.variables[register.index()])
    }

    /// Sets a register to a value of the machine type of its class.
    pub(in crate::codegen) fn set(&self, e: &mut Emitter<'_>, register: Register, value: Value) {
        e.builder().def_var(self.variables[register.index()], value);
    }

    /// Sets a register to 0, as those are that a program reads before it has written them.
    pub(in crate::codegen) fn clear(&self, e: &mut Emitter<'_>, register: Register) -> Value {
        let zero = e.zero(register_type(self.class(register)));
        self.set(e, register, zero);
        zero
    }

    /// A register's low bits as a value of a type.
    pub(in crate::codegen) fn read(
        &self,
        e: &mut Emitter<'_>,
        register: Register,
        ty: ScalarType,
    ) -> Value {
        let value = self.get(e, register);
        let (have, wanted) = (e.type_of(value), machine_type(ty));
        if have == wanted {
            return value;
        }
        if have.bits() == wanted.bits() {
            return e.cast(value, wanted);
        }
        let bits = e.cast(value, have.as_int());
        let low = e.ins().ireduce(wanted.as_int(), bits);
        e.cast(low, wanted)
    }

    /// Writes a value into a register, extended to the register's width.
    pub(in crate::codegen) fn write(
        &self,
        e: &mut Emitter<'_>,
        register: Register,
        value: Value,
        signed: bool,
    ) {
        let (have, wanted) = (e.type_of(value), register_type(self.class(register)));
        let value = if have.bits() == wanted.bits() {
            e.cast(value, wanted)
        } else {
            let bits = e.cast(value, have.as_int());
            let wide = e.resize(bits, wanted.as_int(), signed);
            e.cast(wide, wanted)
        };
        self.set(e, register, value);
    }
}
