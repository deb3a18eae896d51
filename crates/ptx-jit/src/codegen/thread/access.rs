//! Addresses in state spaces as addresses of the host, with the checks that come between.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{AddressBase, MemoryOperand, Operand, Register, StateSpace};

use super::code::ThreadCode;
use super::pointers::SpaceWindow;
use crate::abi::{AccessInfo, AccessKind, CheckLevel, Helper, KernelContext};

/// The host address of a memory operand for an access; the thread is stopped if that is
/// refused. `written` is what a write writes, if that is one value.
pub(super) fn locate(
    t: &mut ThreadCode<'_>,
    operand: Operand,
    space: StateSpace,
    info: AccessInfo,
    written: Option<Value>,
) -> Value {
    let Operand::Memory(address) = operand else {
        unreachable!("the parser puts addresses where operations expect them");
    };
    if let Some(place) = t.checked_place {
        return place;
    }
    let value = effective_address(t, address);
    if let Some(window) = t.spaces.known_window(address, info.bytes) {
        let base = t.pointers.window_base(&mut t.e, window);
        let place = t.e.ins().iadd(base, value);
        return tell(t, window, space, place, info, written);
    }
    match t.spaces.window(space) {
        Some(window) => {
            let place = check_window(t, window, value, info);
            tell(t, window, space, place, info, written)
        }
        None => check_generic(t, value, info, written),
    }
}

/// Tells checked mode of an access to memory of the block or the thread.
fn tell(
    t: &mut ThreadCode<'_>,
    window: SpaceWindow,
    space: StateSpace,
    place: Value,
    info: AccessInfo,
    written: Option<Value>,
) -> Value {
    if t.spaces.check() == CheckLevel::Window || window == SpaceWindow::Parameters {
        return place;
    }
    if space == StateSpace::Param {
        if info.access == AccessKind::Write {
            tell_passed(t, place, info.bytes);
        }
        return place;
    }
    ask(t, place, info, written)
}

/// Tells checked mode of arguments or results of a call that were put into local memory.
pub(super) fn tell_passed(t: &mut ThreadCode<'_>, place: Value, bytes: u32) {
    if t.spaces.check() == CheckLevel::Full {
        let bytes = t.e.int(types::I32, i64::from(bytes));
        t.e.call_helper(Helper::Passed, &[t.pointers.context(), t.pointers.thread(), place, bytes]);
    }
}

/// Asks whether an access may be made; the thread is stopped if not.
fn ask(t: &mut ThreadCode<'_>, address: Value, info: AccessInfo, written: Option<Value>) -> Value {
    let good = t.e.create_block();
    let [context, thread, place, described, line] =
        access_arguments(t, address, info, written.is_some());
    let written = match written {
        Some(value) => {
            let bits = t.e.cast(value, t.e.type_of(value).as_int());
            t.e.resize(bits, types::I64, false)
        }
        None => t.e.int(types::I64, 0),
    };
    let arguments = [context, thread, place, described, line, written];
    let refused = match t.spaces.check() {
        CheckLevel::Window => t.e.cold_helper(Helper::Check, &arguments),
        CheckLevel::Full => t.e.helper(Helper::Check, &arguments),
    };
    t.e.branch(refused, t.exits.fault(), good);
    t.e.switch_to_block(good);
    address
}

/// The address that a memory operand names, in its own space.
pub(in crate::codegen) fn effective_address(
    t: &mut ThreadCode<'_>,
    address: MemoryOperand,
) -> Value {
    match address.base {
        AddressBase::Absolute => t.e.int(types::I64, address.offset),
        AddressBase::Variable(variable) => {
            t.spaces.address_of(&mut t.e, &t.pointers, variable, address.offset)
        }
        AddressBase::Register(register) => offset_register(t, register, address.offset),
    }
}

/// A register plus a distance, computed in the register's width.
fn offset_register(t: &mut ThreadCode<'_>, register: Register, offset: i64) -> Value {
    let value = t.registers.get(&mut t.e, register);
    let ty = t.e.type_of(value).as_int();
    let bits = t.e.cast(value, ty);
    let distance = t.e.int(ty, offset);
    let sum = t.e.ins().iadd(bits, distance);
    t.e.resize(sum, types::I64, false)
}

/// The host address of an access to a window; the thread is stopped if it is not inside.
///
/// One comparison finds both: an address that is not a multiple of the access's size is rotated into a
/// number beyond all slots.
fn check_window(
    t: &mut ThreadCode<'_>,
    window: SpaceWindow,
    place: Value,
    info: AccessInfo,
) -> Value {
    let log = info.bytes.trailing_zeros();
    let slot = t.e.ins().rotr_imm_u(place, i64::from(log));
    let slots = t.pointers.window_slots(&mut t.e, window, log as usize);
    let inside = t.e.ins().icmp(IntCC::UnsignedLessThan, slot, slots);
    let [good, bad] = t.e.create_blocks();
    t.e.set_cold_block(bad);
    t.e.branch(inside, good, bad);

    t.e.switch_to_block(bad);
    let arguments = access_arguments(t, place, info, false);
    t.e.call_cold_helper(Helper::Deny, &arguments);
    t.e.jump(t.exits.fault());

    t.e.switch_to_block(good);
    let base = t.pointers.window_base(&mut t.e, window);
    t.e.ins().iadd(base, place)
}

/// The address of an access that may go anywhere; the thread is stopped if that is refused. Inside of
/// the device's own range of addresses nobody is asked.
fn check_generic(
    t: &mut ThreadCode<'_>,
    address: Value,
    info: AccessInfo,
    written: Option<Value>,
) -> Value {
    if t.spaces.check() == CheckLevel::Full {
        return ask(t, address, info, written);
    }
    let [good, unknown] = t.e.create_blocks();
    let log = info.bytes.trailing_zeros();
    let start = t.pointers.context_pointer(&mut t.e, offset_of!(KernelContext, window_start));
    let distance = t.e.ins().isub(address, start);
    let slot = t.e.ins().rotr_imm_u(distance, i64::from(log));
    let slots = t
        .pointers
        .context_pointer(&mut t.e, offset_of!(KernelContext, window_slots) + 8 * log as usize);
    let inside = t.e.ins().icmp(IntCC::UnsignedLessThan, slot, slots);
    t.e.set_cold_block(unknown);
    t.e.branch(inside, good, unknown);
    t.e.switch_to_block(unknown);
    ask(t, address, info, None);
    t.e.jump(good);
    t.e.switch_to_block(good);
    address
}

fn access_arguments(
    t: &mut ThreadCode<'_>,
    address: Value,
    info: AccessInfo,
    has_value: bool,
) -> [Value; 5] {
    let packed = t.e.int(types::I32, i64::from(info.packed(has_value)));
    let line = t.e.int(types::I32, i64::from(t.line));
    [t.pointers.context(), t.pointers.thread(), address, packed, line]
}
