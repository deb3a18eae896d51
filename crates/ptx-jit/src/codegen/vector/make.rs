//! Lanes from scalars and constants, and back.

use cranelift_codegen::ir::{
    ConstantData, InstBuilder, InstructionData, Opcode, Type, Value, ValueDef, types,
};
use cranelift_frontend::FunctionBuilder;
use ptx::ScalarType;

use super::lanes::Lanes;
use super::shape::{count, vector_type};
use crate::codegen::types::machine_type;

/// A value that all lanes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::codegen) enum Uniform {
    Constant(u64),
    /// A value of the type of the vectors' elements.
    Scalar(Value),
}

/// A scalar of a type, as the lowering of one thread has it, in all lanes.
pub(in crate::codegen) fn splat(
    b: &mut FunctionBuilder<'_>,
    scalar: Value,
    ty: ScalarType,
) -> Lanes {
    let vector = vector_type(ty);
    let element = to_element(b, scalar, ty);
    let value = b.ins().splat(vector, element);
    Lanes::repeated(value, count(vector))
}

/// A constant in all lanes; predicates are 0 or 1.
pub(in crate::codegen) fn constant(
    b: &mut FunctionBuilder<'_>,
    bits: u64,
    ty: ScalarType,
) -> Lanes {
    let vector_ty = vector_type(ty);
    let bits = if ty == ScalarType::Pred && bits != 0 { u64::MAX } else { bits };
    let value = vector(b, vector_ty, bits);
    Lanes::repeated(value, count(vector_ty))
}

/// Constants, one for each lane by its number, in vectors of a type.
pub(in crate::codegen) fn constants(
    b: &mut FunctionBuilder<'_>,
    vector_ty: Type,
    value: impl Fn(i64) -> i64,
) -> Lanes {
    let width = vector_ty.lane_type().bytes() as usize;
    let per_vector = i64::from(vector_ty.lane_count());
    let values = (0..count(vector_ty) as i64).map(|index| {
        let lanes = per_vector * index..per_vector * (index + 1);
        let bytes = lanes.flat_map(|lane| value(lane).to_le_bytes().into_iter().take(width));
        let constant = b.func.dfg.constants.insert(ConstantData::from(bytes.collect::<Vec<u8>>()));
        b.ins().vconst(vector_ty, constant)
    });
    Lanes { values: values.collect() }
}

/// Lanes with another value in one of them, as the lowering of one thread has it.
pub(in crate::codegen) fn with_lane(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    index: usize,
    value: Value,
    ty: ScalarType,
) -> Lanes {
    let per_vector = vector_type(ty).lane_count() as usize;
    let element = match ty {
        ScalarType::Pred => b.ins().bmask(types::I32, value),
        ty if ty.bits() == 8 => b.ins().uextend(types::I16, value),
        _ => value,
    };
    let mut lanes = lanes.clone();
    let vector = &mut lanes.values[index / per_vector];
    *vector = b.ins().insertlane(*vector, element, (index % per_vector) as u8);
    lanes
}

/// One lane's value, as the lowering of one thread has it.
pub(in crate::codegen) fn lane(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    index: usize,
    ty: ScalarType,
) -> Value {
    let per_vector = vector_type(ty).lane_count() as usize;
    let value = lanes.values[index / per_vector];
    let element = b.ins().extractlane(value, (index % per_vector) as u8);
    match ty {
        ScalarType::Pred => {
            let byte = b.ins().ireduce(types::I8, element);
            b.ins().band_imm_u(byte, 1)
        }
        ty if ty.bits() == 8 => b.ins().ireduce(types::I8, element),
        _ => element,
    }
}

/// The value that all lanes share, if it is made so that this can be seen.
pub(in crate::codegen) fn uniform(b: &FunctionBuilder<'_>, lanes: &Lanes) -> Option<Uniform> {
    let dfg = &b.func.dfg;
    let value = dfg.resolve_aliases(lanes.values[0]);
    if lanes.values.iter().any(|&other| dfg.resolve_aliases(other) != value) {
        return None;
    }
    let ValueDef::Result(instruction, _) = dfg.value_def(value) else { return None };
    match dfg.insts[instruction] {
        InstructionData::Unary { opcode: Opcode::Splat, arg } => Some(Uniform::Scalar(arg)),
        InstructionData::Unary { opcode: Opcode::Bitcast, .. } => None,
        InstructionData::UnaryConst { opcode: Opcode::Vconst, constant_handle } => {
            let data = dfg.constants.get(constant_handle).as_slice();
            let bytes = dfg.value_type(value).lane_type().bytes() as usize;
            let element = &data[..bytes];
            let same = data.chunks_exact(bytes).all(|other| other == element);
            let bits = element.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
            same.then_some(Uniform::Constant(bits))
        }
        _ => None,
    }
}

/// A vector with the same bits in all elements.
pub(super) fn vector(b: &mut FunctionBuilder<'_>, ty: Type, bits: u64) -> Value {
    elements(b, ty, |_| bits)
}

/// A vector of constants.
pub(super) fn elements(
    b: &mut FunctionBuilder<'_>,
    ty: Type,
    mut bits: impl FnMut(usize) -> u64,
) -> Value {
    let width = ty.lane_type().bytes() as usize;
    let bytes: Vec<u8> = (0..ty.lane_count() as usize)
        .flat_map(|index| bits(index).to_le_bytes().into_iter().take(width))
        .collect();
    let handle = b.func.dfg.constants.insert(ConstantData::from(bytes));
    b.ins().vconst(ty, handle)
}

/// A scalar as an element of a vector.
fn to_element(b: &mut FunctionBuilder<'_>, scalar: Value, ty: ScalarType) -> Value {
    debug_assert_eq!(b.func.dfg.value_type(scalar), machine_type(ty));
    match ty {
        ScalarType::Pred => b.ins().bmask(types::I32, scalar),
        ty if ty.bits() == 8 => b.ins().uextend(types::I16, scalar),
        _ => scalar,
    }
}
