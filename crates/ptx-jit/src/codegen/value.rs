//! Values: operands as typed values, results into registers, and small steps that many operations
//! share.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use ptx::{Instruction, Operand, Register, RegisterType, ScalarType};

use super::function::Lowering;

/// The machine type of a register.
pub(super) fn register_type(ty: RegisterType) -> Type {
    match ty {
        RegisterType::Predicate => types::I8,
        RegisterType::Bits16 => types::I16,
        RegisterType::Bits32 => types::I32,
        RegisterType::Bits64 => types::I64,
        RegisterType::Float32 => types::F32,
        RegisterType::Float64 => types::F64,
    }
}

/// The machine type of a value. Halves are their bits.
pub(super) fn machine_type(ty: ScalarType) -> Type {
    match ty {
        ScalarType::F32 => types::F32,
        ScalarType::F64 => types::F64,
        other => integer_type(other.bits()),
    }
}

/// The integer type of that width; predicates are bytes.
pub(super) fn integer_type(bits: u32) -> Type {
    match bits {
        1 | 8 => types::I8,
        16 => types::I16,
        32 => types::I32,
        _ => types::I64,
    }
}

impl Lowering<'_, '_> {
    /// A source of an instruction as a value of that type.
    pub(super) fn source(
        &mut self,
        instruction: &Instruction,
        index: usize,
        ty: ScalarType,
    ) -> Value {
        self.operand(instruction.sources[index], ty)
    }

    pub(super) fn operand(&mut self, operand: Operand, ty: ScalarType) -> Value {
        match operand {
            Operand::Register(register) => self.read(register, ty),
            Operand::Negated(register) => {
                let value = self.read(register, ScalarType::Pred);
                self.builder.ins().bxor_imm_u(value, 1)
            }
            Operand::Immediate(bits) => self.constant(ty, bits),
            Operand::Special(special) => {
                let value = self.special(special);
                let value = self.resize(value, integer_type(ty.bits()), false);
                self.cast(value, machine_type(ty))
            }
            Operand::AddressOf(variable, offset) => {
                let address = self.address_of(variable, offset);
                self.resize(address, integer_type(ty.bits()), false)
            }
            Operand::Memory(_) | Operand::Variable(_) | Operand::Target(_) => {
                unreachable!("the parser puts values where operations expect them")
            }
        }
    }

    /// A register's low bits as a value of that type.
    pub(super) fn read(&mut self, register: Register, ty: ScalarType) -> Value {
        let value = self.builder.use_var(self.registers[register.index()]);
        let wanted = machine_type(ty);
        let have = self.builder.func.dfg.value_type(value);
        if have == wanted {
            return value;
        }
        if have.bits() == wanted.bits() {
            return self.cast(value, wanted);
        }
        let bits = self.cast(value, have.as_int());
        let low = self.builder.ins().ireduce(wanted.as_int(), bits);
        self.cast(low, wanted)
    }

    /// Writes a value of that type into a destination, extended to the register's width.
    pub(super) fn define(
        &mut self,
        instruction: &Instruction,
        index: usize,
        value: Value,
        ty: ScalarType,
    ) {
        if let Some(register) = instruction.destinations.get(index).copied().flatten() {
            self.write(register, value, ty.is_signed());
        }
    }

    pub(super) fn write(&mut self, register: Register, value: Value, signed: bool) {
        let wanted = register_type(self.code.function.registers[register.index()]);
        let have = self.builder.func.dfg.value_type(value);
        let value = if have.bits() == wanted.bits() {
            self.cast(value, wanted)
        } else {
            let bits = self.cast(value, have.as_int());
            let wide = self.resize(bits, wanted.as_int(), signed);
            self.cast(wide, wanted)
        };
        self.builder.def_var(self.registers[register.index()], value);
    }

    /// The register that a destination names.
    pub(super) fn destination(&self, instruction: &Instruction) -> Option<Register> {
        instruction.destinations.first().copied().flatten()
    }

    /// The same bits as another type of that width.
    pub(super) fn cast(&mut self, value: Value, ty: Type) -> Value {
        if self.builder.func.dfg.value_type(value) == ty {
            return value;
        }
        self.builder.ins().bitcast(ty, MemFlagsData::new(), value)
    }

    /// An integer as one of another width.
    pub(super) fn resize(&mut self, value: Value, ty: Type, signed: bool) -> Value {
        let have = self.builder.func.dfg.value_type(value);
        match have.bits().cmp(&ty.bits()) {
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater => self.builder.ins().ireduce(ty, value),
            std::cmp::Ordering::Less if signed => self.builder.ins().sextend(ty, value),
            std::cmp::Ordering::Less => self.builder.ins().uextend(ty, value),
        }
    }

    pub(super) fn constant(&mut self, ty: ScalarType, bits: u64) -> Value {
        match ty {
            ScalarType::F32 => self.f32(f32::from_bits(bits as u32)),
            ScalarType::F64 => self.f64(f64::from_bits(bits)),
            other => self.int(integer_type(other.bits()), bits as i64),
        }
    }

    /// An integer constant, cut to the width of its type.
    pub(super) fn int(&mut self, ty: Type, value: i64) -> Value {
        let unused = 64 - ty.bits();
        let value = ((value as u64) << unused >> unused) as i64;
        self.builder.ins().iconst(ty, value)
    }

    pub(super) fn f32(&mut self, value: f32) -> Value {
        self.builder.ins().f32const(value)
    }

    pub(super) fn f64(&mut self, value: f64) -> Value {
        self.builder.ins().f64const(value)
    }

    pub(super) fn zero(&mut self, ty: Type) -> Value {
        match ty {
            types::F32 => self.f32(0.0),
            types::F64 => self.f64(0.0),
            ty => self.int(ty, 0),
        }
    }

    /// The smaller or larger of two integers.
    pub(super) fn choose_integer(&mut self, condition: IntCC, a: Value, b: Value) -> Value {
        let first = self.builder.ins().icmp(condition, a, b);
        self.builder.ins().select(first, a, b)
    }

    /// Shifts that give 0 (or the sign) where the amount, a 32-bit integer, reaches the width.
    pub(super) fn shift_left(&mut self, value: Value, amount: Value) -> Value {
        let shifted = self.builder.ins().ishl(value, amount);
        self.zero_beyond_width(shifted, amount)
    }

    pub(super) fn shift_right(&mut self, value: Value, amount: Value, signed: bool) -> Value {
        if !signed {
            let shifted = self.builder.ins().ushr(value, amount);
            return self.zero_beyond_width(shifted, amount);
        }
        let bits = self.builder.func.dfg.value_type(value).bits();
        let last = self.int(types::I32, i64::from(bits) - 1);
        let amount = self.choose_integer(IntCC::UnsignedLessThan, amount, last);
        self.builder.ins().sshr(value, amount)
    }

    fn zero_beyond_width(&mut self, shifted: Value, amount: Value) -> Value {
        let ty = self.builder.func.dfg.value_type(shifted);
        let inside =
            self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThan, amount, i64::from(ty.bits()));
        let zero = self.int(ty, 0);
        self.builder.ins().select(inside, shifted, zero)
    }
}
