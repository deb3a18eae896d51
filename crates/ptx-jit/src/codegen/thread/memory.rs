//! Loads, stores, and conversions of addresses.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use ptx::{Instruction, MemoryForm, MemoryOrder, Operand, ScalarType, StateSpace};

use super::access::{locate, tell_passed};
use super::code::ThreadCode;
use super::pointers::SpaceWindow;
use crate::abi::{AccessInfo, AccessKind, CheckLevel, Helper};
use crate::codegen::types::machine_type;

/// More bytes are copied by a call than one by one.
const LONGEST_COPY: u32 = 256;

pub(super) fn load(t: &mut ThreadCode<'_>, instruction: &Instruction, form: MemoryForm) {
    let address = place_of(t, instruction, form, AccessKind::Read, None);
    let flags = load_flags(t, instruction, form.ty.bytes() * u32::from(form.count));
    for index in 0..usize::from(form.count) {
        let offset = index as i32 * form.ty.bytes() as i32;
        let value = match form.order {
            MemoryOrder::Weak | MemoryOrder::Asynchronous => {
                t.e.ins().load(machine_type(form.ty), flags, address, offset)
            }
            MemoryOrder::Strong | MemoryOrder::Release => strong_load(t, form.ty, address, offset),
        };
        t.define(instruction, index, value, form.ty);
    }
    if form.order.is_strong() {
        tell_acquired(t, address);
    }
}

pub(super) fn store(t: &mut ThreadCode<'_>, instruction: &Instruction, form: MemoryForm) {
    let values: Vec<Value> = (0..usize::from(form.count))
        .map(|index| t.source(instruction, 1 + index, form.ty))
        .collect();
    let only = if values.len() == 1 { values.first().copied() } else { None };
    let address = place_of(t, instruction, form, AccessKind::Write, only);
    for (index, value) in values.into_iter().enumerate() {
        let offset = index as i32 * form.ty.bytes() as i32;
        match form.order {
            MemoryOrder::Weak | MemoryOrder::Asynchronous => {
                let flags = MemFlagsData::new().with_notrap();
                t.e.ins().store(flags, value, address, offset);
            }
            MemoryOrder::Strong | MemoryOrder::Release => strong_store(t, value, address, offset),
        }
    }
}

pub(super) fn cvta(
    t: &mut ThreadCode<'_>,
    instruction: &Instruction,
    space: StateSpace,
    bits: u32,
) {
    let value = address_operand(t, instruction, bits);
    let generic = t.spaces.with_base(&mut t.e, &t.pointers, value, space);
    define_address(t, instruction, generic, bits);
}

pub(super) fn cvta_to(
    t: &mut ThreadCode<'_>,
    instruction: &Instruction,
    space: StateSpace,
    bits: u32,
) {
    let value = address_operand(t, instruction, bits);
    let place = t.spaces.without_base(&mut t.e, &t.pointers, value, space);
    define_address(t, instruction, place, bits);
}

pub(super) fn is_space(t: &mut ThreadCode<'_>, instruction: &Instruction, space: StateSpace) {
    let value = t.source(instruction, 0, ScalarType::U64);
    let inside = t.spaces.in_space(&mut t.e, &t.pointers, value, space);
    t.define(instruction, 0, inside, ScalarType::Pred);
}

/// Copies a variable of the frame to another one.
pub(super) fn copy_variable(t: &mut ThreadCode<'_>, instruction: &Instruction, bytes: u32) {
    let (Operand::Variable(to), Operand::Variable(from)) =
        (instruction.sources[0], instruction.sources[1])
    else {
        unreachable!("inlining copies variables only");
    };
    let (to, from) = (
        t.spaces.frame_variable(&mut t.e, &t.pointers, to),
        t.spaces.frame_variable(&mut t.e, &t.pointers, from),
    );
    copy_bytes(t, to, from, bytes);
    tell_passed(t, to, bytes);
}

/// Tells checked mode that a strong read or an atomic operation is done.
pub(super) fn tell_acquired(t: &mut ThreadCode<'_>, address: Value) {
    if t.spaces.check() == CheckLevel::Full {
        t.e.call_helper(Helper::Acquired, &[t.pointers.context(), t.pointers.thread(), address]);
    }
}

/// Copies memory that both ends of which are the thread's own.
pub(super) fn copy_bytes(t: &mut ThreadCode<'_>, to: Value, from: Value, bytes: u32) {
    if bytes > LONGEST_COPY {
        let bytes = t.e.int(types::I64, i64::from(bytes));
        return t.e.call_memcpy(to, from, bytes);
    }
    let flags = MemFlagsData::new().with_notrap();
    let mut offset = 0;
    for ty in [types::I64, types::I32, types::I16, types::I8] {
        while bytes as i32 - offset >= ty.bytes() as i32 {
            let value = t.e.ins().load(ty, flags, from, offset);
            t.e.ins().store(flags, value, to, offset);
            offset += ty.bytes() as i32;
        }
    }
}

fn place_of(
    t: &mut ThreadCode<'_>,
    instruction: &Instruction,
    form: MemoryForm,
    access: AccessKind,
    written: Option<Value>,
) -> Value {
    let bytes = form.ty.bytes() * u32::from(form.count);
    let (strong, releases) = (form.order.is_strong(), form.order == MemoryOrder::Release);
    let asynchronous = form.order == MemoryOrder::Asynchronous;
    let what = AccessInfo { bytes, access, strong, releases, asynchronous };
    locate(t, instruction.sources[0], form.space, what, written)
}

/// Kernel parameters do not change, so the optimiser may load them once for all threads.
fn load_flags(t: &mut ThreadCode<'_>, instruction: &Instruction, bytes: u32) -> MemFlagsData {
    let flags = MemFlagsData::new().with_notrap();
    match instruction.sources[0] {
        Operand::Memory(address)
            if t.spaces.known_window(address, bytes) == Some(SpaceWindow::Parameters) =>
        {
            flags.with_readonly().with_can_move()
        }
        _ => flags,
    }
}

fn strong_load(t: &mut ThreadCode<'_>, ty: ScalarType, address: Value, offset: i32) -> Value {
    let place = t.e.ins().iadd_imm_s(address, i64::from(offset));
    let machine = machine_type(ty);
    let bits = t.e.ins().atomic_load(machine.as_int(), MemFlagsData::trusted(), place);
    t.e.cast(bits, machine)
}

fn strong_store(t: &mut ThreadCode<'_>, value: Value, address: Value, offset: i32) {
    let place = t.e.ins().iadd_imm_s(address, i64::from(offset));
    let ty = t.e.type_of(value).as_int();
    let bits = t.e.cast(value, ty);
    t.e.ins().atomic_store(MemFlagsData::trusted(), bits, place);
}

fn address_operand(t: &mut ThreadCode<'_>, instruction: &Instruction, bits: u32) -> Value {
    let value = t.source(instruction, 0, ScalarType::untyped(bits));
    t.e.resize(value, types::I64, false)
}

fn define_address(t: &mut ThreadCode<'_>, instruction: &Instruction, value: Value, bits: u32) {
    let ty = ScalarType::untyped(bits);
    let value = t.e.resize(value, machine_type(ty), false);
    t.define(instruction, 0, value, ty);
}
