//! Calls of functions over arrays of lanes, for what has no short form in vector instructions.

use std::mem::size_of;

use cranelift_codegen::ir::{
    AbiParam, InstBuilder, Signature, StackSlot, StackSlotData, StackSlotKey, StackSlotKind, Value,
    types,
};
use cranelift_frontend::FunctionBuilder;
use ptx::ScalarType;

use super::lanes::Lanes;
use super::shape::{count, vector_type};
use crate::runtime::{
    self, Area, BitsCall, ConvertCall, FloatCall, HalfCall, IntegerCall, WarpCall,
};

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

/// The entry of all such functions of one kind: native code says which of them it asks for.
type LaneEntry<C> = unsafe extern "C" fn(*mut Area, C, u32);

impl LaneFunction {
    /// The address of the entry, and the number of the function among those that it stands for.
    fn entry(self) -> (usize, u32) {
        match self {
            LaneFunction::Bits(call) => {
                (runtime::bits as LaneEntry<BitsCall> as usize, call as u32)
            }
            LaneFunction::Convert(call) => {
                (runtime::convert as LaneEntry<ConvertCall> as usize, call as u32)
            }
            LaneFunction::Float(call) => {
                (runtime::float as LaneEntry<FloatCall> as usize, call as u32)
            }
            LaneFunction::Half(call) => {
                (runtime::half as LaneEntry<HalfCall> as usize, call as u32)
            }
            LaneFunction::Integer(call) => {
                (runtime::integer as LaneEntry<IntegerCall> as usize, call as u32)
            }
            LaneFunction::Warp(call) => {
                (runtime::warp as LaneEntry<WarpCall> as usize, call as u32)
            }
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
    call_by_address(b, entry, [address, code, parameter]);
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
    let data = StackSlotData::new_with_key(StackSlotKind::ExplicitSlot, bytes as u32, 4, key);
    b.create_sized_stack_slot(data)
}

/// Code that is made for this process only can name functions by their addresses.
pub(super) fn call_by_address(b: &mut FunctionBuilder<'_>, entry: usize, arguments: [Value; 3]) {
    let mut signature = Signature::new(b.func.signature.call_conv);
    signature.params.extend([types::I64, types::I32, types::I32].map(AbiParam::new));
    let known = b.func.dfg.signatures.iter().find(|(_, known)| **known == signature);
    let signature = match known.map(|(reference, _)| reference) {
        Some(reference) => reference,
        None => b.import_signature(signature),
    };
    let address = b.ins().iconst(types::I64, entry as i64);
    b.ins().call_indirect(signature, address, &arguments);
}
