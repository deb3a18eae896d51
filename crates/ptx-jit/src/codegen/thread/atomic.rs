//! Atomic operations.
//!
//! All threads of a block run on one thread of the host, so operations on shared memory are plain;
//! those on global memory, which other blocks may access at the same time, are the host's atomic
//! operations.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder, MemFlagsData, Value, types};
use ptx::{AtomicForm, AtomicOp, Instruction, MemoryOrder, ScalarType, StateSpace};

use super::access::locate;
use super::code::ThreadCode;
use super::memory::tell_acquired;
use crate::abi::{AccessInfo, Helper};
use crate::codegen::types::machine_type;

pub(super) fn atomic(t: &mut ThreadCode<'_>, instruction: &Instruction, form: AtomicForm) {
    let ty = form.ty;
    let operand = t.source(instruction, 1, ty);
    let compared = operand;
    let releases = form.order == MemoryOrder::Release;
    let what = AccessInfo { releases, ..AccessInfo::atomic(ty.bytes()) };
    let address = locate(t, instruction.sources[0], form.space, what, None);
    let old = if form.op == AtomicOp::CompareExchange {
        let new = t.source(instruction, 2, ty);
        t.e.ins().atomic_cas(MemFlagsData::trusted(), address, compared, new)
    } else if ty.is_half() || ty.is_half_pair() {
        atomic_half_add(t, address, operand, ty)
    } else if ty.is_float() {
        atomic_float_add(t, address, operand, form)
    } else if let Some(op) = native_operation(form) {
        match form.space {
            StateSpace::Shared => plain_update(t, address, operand, form),
            _ => t.e.ins().atomic_rmw(
                machine_type(ty),
                MemFlagsData::trusted(),
                op,
                address,
                operand,
            ),
        }
    } else {
        let helper = match form.op {
            AtomicOp::Increment => Helper::AtomicIncrement,
            _ => Helper::AtomicDecrement,
        };
        t.e.helper(helper, &[address, operand])
    };
    tell_acquired(t, address);
    if !instruction.destinations.is_empty() {
        t.define(instruction, 0, old, ty);
    }
}

/// The sum is what it is when it is written: as long as another one comes in between, a new one.
fn atomic_float_add(
    t: &mut ThreadCode<'_>,
    address: Value,
    operand: Value,
    form: AtomicForm,
) -> Value {
    let machine = machine_type(form.ty);
    if form.space == StateSpace::Shared {
        return plain_update(t, address, operand, form);
    }
    let (again, done) = (t.e.create_block(), t.e.create_block());
    t.e.builder().append_block_param(again, machine.as_int());
    let flags = MemFlagsData::trusted();
    let seen = t.e.ins().atomic_load(machine.as_int(), flags, address);
    t.e.ins().jump(again, &[seen.into()]);
    t.e.switch_to_block(again);
    let bits = t.e.builder().block_params(again)[0];
    let old = t.e.cast(bits, machine);
    let sum = t.e.ins().fadd(old, operand);
    let sum = t.e.cast(sum, machine.as_int());
    let seen = t.e.ins().atomic_cas(flags, address, bits, sum);
    let written = t.e.ins().icmp(IntCC::Equal, seen, bits);
    t.e.ins().brif(written, done, &[], again, &[seen.into()]);
    t.e.switch_to_block(done);
    old
}

fn atomic_half_add(
    t: &mut ThreadCode<'_>,
    address: Value,
    operand: Value,
    ty: ScalarType,
) -> Value {
    let helper = match ty {
        ScalarType::F16 => Helper::AtomicAddF16,
        ScalarType::BF16 => Helper::AtomicAddBf16,
        ScalarType::F16x2 => Helper::AtomicAddF16x2,
        _ => Helper::AtomicAddBf16x2,
    };
    if ty.is_half_pair() {
        return t.e.helper(helper, &[address, operand]);
    }
    let wide = t.e.resize(operand, types::I32, false);
    let old = t.e.helper(helper, &[address, wide]);
    t.e.resize(old, types::I16, false)
}

/// An update that no other thread of the host can see.
fn plain_update(t: &mut ThreadCode<'_>, address: Value, operand: Value, form: AtomicForm) -> Value {
    let flags = MemFlagsData::new().with_notrap();
    let old = t.e.ins().load(machine_type(form.ty), flags, address, 0);
    let signed = form.ty.is_signed();
    let new = match form.op {
        AtomicOp::Add if form.ty.is_float() => t.e.ins().fadd(old, operand),
        AtomicOp::Add => t.e.ins().iadd(old, operand),
        AtomicOp::And => t.e.ins().band(old, operand),
        AtomicOp::Or => t.e.ins().bor(old, operand),
        AtomicOp::Xor => t.e.ins().bxor(old, operand),
        AtomicOp::Minimum if signed => t.e.choose_integer(IntCC::SignedLessThan, old, operand),
        AtomicOp::Minimum => t.e.choose_integer(IntCC::UnsignedLessThan, old, operand),
        AtomicOp::Maximum if signed => t.e.choose_integer(IntCC::SignedGreaterThan, old, operand),
        AtomicOp::Maximum => t.e.choose_integer(IntCC::UnsignedGreaterThan, old, operand),
        _ => operand,
    };
    t.e.ins().store(flags, new, address, 0);
    old
}

/// The host's operation, if it has one.
fn native_operation(form: AtomicForm) -> Option<AtomicRmwOp> {
    let signed = form.ty.is_signed();
    Some(match form.op {
        AtomicOp::Add => AtomicRmwOp::Add,
        AtomicOp::And => AtomicRmwOp::And,
        AtomicOp::Or => AtomicRmwOp::Or,
        AtomicOp::Xor => AtomicRmwOp::Xor,
        AtomicOp::Exchange => AtomicRmwOp::Xchg,
        AtomicOp::Minimum if signed => AtomicRmwOp::Smin,
        AtomicOp::Minimum => AtomicRmwOp::Umin,
        AtomicOp::Maximum if signed => AtomicRmwOp::Smax,
        AtomicOp::Maximum => AtomicRmwOp::Umax,
        AtomicOp::CompareExchange | AtomicOp::Increment | AtomicOp::Decrement => return None,
    })
}
