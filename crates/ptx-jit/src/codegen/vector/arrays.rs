//! Calls of functions over arrays of lanes, for what has no short form in vector instructions.

use std::mem::size_of;

use cranelift_codegen::ir::{
    InstBuilder, StackSlot, StackSlotData, StackSlotKey, StackSlotKind, types,
};
use cranelift_frontend::FunctionBuilder;
use ptx::ScalarType;

use super::lanes::Lanes;
use super::shape::{count, vector_type};
use crate::codegen::array_functions::ArrayFunction;
use crate::runtime::{Area, BitsCall, ConvertCall, FloatCall, HalfCall, IntegerCall, WarpCall};

/// A function over arrays of lanes.
#[derive(Clone, Copy, Debug)]
pub(super) enum LaneFunction {
    Bits(BitsCall),
    Convert(ConvertCall),
    Float(FloatCall),
    Half(HalfCall),
    Integer(IntegerCall),
    Warp(WarpCall),
}

impl LaneFunction {
    /// The function of its kind, and its number among those that this stands for.
    fn entry(self) -> (ArrayFunction, u32) {
        match self {
            LaneFunction::Bits(call) => (ArrayFunction::Bits, call as u32),
            LaneFunction::Convert(call) => (ArrayFunction::Convert, call as u32),
            LaneFunction::Float(call) => (ArrayFunction::Float, call as u32),
            LaneFunction::Half(call) => (ArrayFunction::Half, call as u32),
            LaneFunction::Integer(call) => (ArrayFunction::Integer, call as u32),
            LaneFunction::Warp(call) => (ArrayFunction::Warp, call as u32),
        }
    }
}

/// Calls a function; the result's lanes as those of a type.
pub(super) fn call(
    b: &mut FunctionBuilder<'_>,
    function: LaneFunction,
    parameter: u32,
    operands: &[&Lanes],
    result: ScalarType,
) -> Lanes {
    let slot = area(b, *b"lanearea", size_of::<Area>());
    for (index, lanes) in operands.iter().enumerate() {
        let place = ((index + 1) * Area::PLACE) as i32;
        for (vector, &value) in lanes.values.iter().enumerate() {
            b.ins().stack_store(types::I64, value, slot, place + 16 * vector as i32);
        }
    }
    let (entry, code) = function.entry();
    let address = b.ins().stack_addr(types::I64, slot, 0);
    let code = b.ins().iconst(types::I32, i64::from(code));
    let parameter = b.ins().iconst(types::I32, i64::from(parameter));
    let function = entry.import(b.func);
    b.ins().call(function, &[address, code, parameter]);
    let ty = vector_type(result);
    let values =
        (0..count(ty)).map(|vector| b.ins().stack_load(types::I64, ty, slot, 16 * vector as i32));
    Lanes { values: values.collect() }
}

/// All calls of a function share one place of each name in its frame.
pub(super) fn area(b: &mut FunctionBuilder<'_>, name: [u8; 8], bytes: usize) -> StackSlot {
    let key = StackSlotKey::new(u64::from_le_bytes(name));
    let known = b.func.sized_stack_slots.iter().find(|(_, data)| data.key == Some(key));
    if let Some((slot, _)) = known {
        return slot;
    }
    let data = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes as u32, 4);
    b.create_sized_stack_slot(StackSlotData { key: Some(key), ..data })
}
