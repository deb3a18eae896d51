//! The types of Cranelift that hold the registers and values of PTX.

use cranelift_codegen::ir::{Type, types};
use ptx::{RegisterType, ScalarType};

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
