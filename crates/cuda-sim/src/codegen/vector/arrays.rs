//! Calls of functions over arrays of lanes, for what has no short form in vector instructions.

use std::mem::size_of;

use cranelift_codegen::ir::{
    AbiParam, InstBuilder, Signature, StackSlot, StackSlotData, StackSlotKey, StackSlotKind, Value,
    types,
};
use cranelift_frontend::FunctionBuilder;
use ptx::ScalarType;

use super::Lanes;
use super::shape::{count, vector_type};
use crate::exec::runtime::{
    Area, BitsCall, ConvertCall, FloatCall, HalfCall, Helper, IntegerCall, WarpCall,
};

/// A function over arrays.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Bits(BitsCall),
    Convert(ConvertCall),
    Float(FloatCall),
    Half(HalfCall),
    Integer(IntegerCall),
    Warp(WarpCall),
}

impl Call {
    fn helper(self) -> (Helper, u32) {
        match self {
            Call::Bits(call) => (Helper::LanesBits, call as u32),
            Call::Convert(call) => (Helper::LanesConvert, call as u32),
            Call::Float(call) => (Helper::LanesFloat, call as u32),
            Call::Half(call) => (Helper::LanesHalf, call as u32),
            Call::Integer(call) => (Helper::LanesInteger, call as u32),
            Call::Warp(call) => (Helper::LanesWarp, call as u32),
        }
    }
}

/// Calls a function; the result's lanes as those of a type.
pub(super) fn call(
    b: &mut FunctionBuilder<'_>,
    call: Call,
    parameter: u32,
    operands: &[&Lanes],
    result: ScalarType,
) -> Lanes {
    let slot = area(b);
    for (index, lanes) in operands.iter().enumerate() {
        let place = ((index + 1) * Area::PLACE) as i32;
        for (vector, &value) in lanes.values.iter().enumerate() {
            b.ins().stack_store(types::I64, value, slot, place + 16 * vector as i32);
        }
    }
    let (helper, code) = call.helper();
    let address = b.ins().stack_addr(types::I64, slot, 0);
    let code = b.ins().iconst(types::I32, i64::from(code));
    let parameter = b.ins().iconst(types::I32, i64::from(parameter));
    call_by_address(b, helper, &[address, code, parameter]);
    let ty = vector_type(result);
    let values =
        (0..count(ty)).map(|vector| b.ins().stack_load(types::I64, ty, slot, 16 * vector as i32));
    Lanes { values: values.collect() }
}

/// All calls of a function share one place in its frame.
fn area(b: &mut FunctionBuilder<'_>) -> StackSlot {
    let key = StackSlotKey::new(u64::from_le_bytes(*b"lanearea"));
    let known = b.func.sized_stack_slots.iter().find(|(_, data)| data.key == Some(key));
    if let Some((slot, _)) = known {
        return slot;
    }
    let data =
        StackSlotData::new_with_key(StackSlotKind::ExplicitSlot, size_of::<Area>() as u32, 4, key);
    b.create_sized_stack_slot(data)
}

/// Code that is made for this process only can name functions by their addresses.
fn call_by_address(b: &mut FunctionBuilder<'_>, helper: Helper, arguments: &[Value]) {
    let mut signature = Signature::new(b.func.signature.call_conv);
    signature.params.extend(helper.parameters().iter().map(|&ty| AbiParam::new(ty)));
    let known = b.func.dfg.signatures.iter().find(|(_, known)| **known == signature);
    let signature = match known.map(|(reference, _)| reference) {
        Some(reference) => reference,
        None => b.import_signature(signature),
    };
    let address = b.ins().iconst(types::I64, helper.address() as i64);
    b.ins().call_indirect(signature, address, arguments);
}
