//! Loops over the lanes of a warp, for what each does by itself.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, StackSlot, Value, types};
use ptx::control_flow::reads;
use ptx::{Instruction, Register, RegisterType};
use smallvec::SmallVec;

use super::affine::lane_value;
use super::code::WarpCode;
use super::frame::{cell_address, load_cell, load_vectors, store_vectors};
use crate::abi::ThreadRecord;
use crate::codegen::thread::{ThreadCode, guarded};
use crate::codegen::vector;
use crate::ir::{LaneStrides, Uniformity};

/// The lanes that do something.
#[derive(Clone, Copy)]
pub(super) enum ActiveLanes {
    All,
    /// The lanes whose bits are set, of which there is at least one.
    Bits(Value),
    One(u32),
}

/// An instruction in one lane after the other, with its guard.
pub(super) fn by_lanes(w: &mut WarpCode<'_>, instruction: &Instruction) {
    let written: SmallVec<[Register; 2]> =
        instruction.destinations.iter().flatten().copied().collect();
    let mut read = reads(instruction);
    if instruction.guard.is_some() {
        // Lanes whose guard does not hold keep the old value.
        read.extend(written.iter().copied());
    }
    read.sort_unstable();
    read.dedup();
    run_in_lanes(w, &read, &written, ActiveLanes::All, |t| guarded(t, instruction));
}

/// Something that lanes do one after the other. They find in the registers in `read` what each
/// has in them, and each keeps what it leaves in those in `written`. What only some lanes may
/// write is to be active `read` too, so that the others keep their old values.
pub(super) fn run_in_lanes(
    w: &mut WarpCode<'_>,
    read: &[Register],
    written: &[Register],
    active: ActiveLanes,
    body: impl FnOnce(&mut ThreadCode<'_>),
) {
    let affine = |register: &Register| match w.registers.uniformity(*register) {
        Uniformity::Affine(strides) => Some((*register, strides)),
        _ => None,
    };
    let affine: SmallVec<[(Register, LaneStrides); 8]> = read.iter().filter_map(affine).collect();
    let kept: SmallVec<[Value; 8]> =
        affine.iter().map(|&(register, _)| w.t.get(register)).collect();
    match active {
        ActiveLanes::One(lane) => run_in_lane(w, read, written, lane as usize, &affine, body),
        _ => run_in_loop(w, read, written, active, &affine, body),
    }
    for (&(register, _), first) in affine.iter().zip(kept) {
        w.t.set(register, first);
    }
}

fn run_in_lane(
    w: &mut WarpCode<'_>,
    read: &[Register],
    written: &[Register],
    lane: usize,
    affine: &[(Register, LaneStrides)],
    body: impl FnOnce(&mut ThreadCode<'_>),
) {
    let class = |w: &WarpCode<'_>, register| w.registers.class(register).scalar();
    for &register in read {
        if !w.registers.is_varying(register) {
            continue;
        }
        let (lanes, ty) = (w.registers.lanes(&mut w.t, register), class(w, register));
        let value = vector::lane(w.t.e.builder(), &lanes, lane, ty);
        w.t.set(register, value);
    }
    for &(register, strides) in affine {
        let distance = strides.at(lane as i64, w.plan.uniformity.shape());
        let first = w.t.get(register);
        let value = w.t.e.ins().iadd_imm_s(first, distance);
        w.t.set(register, value);
    }
    let distance = (lane * size_of::<ThreadRecord>()) as i64;
    let thread = w.t.e.ins().iadd_imm_s(w.t.pointers.thread(), distance);
    let first = w.t.pointers.visit_thread(thread);
    body(&mut w.t);
    w.t.pointers.come_back(first);
    for &register in written {
        if !w.registers.is_varying(register) {
            continue;
        }
        let (lanes, ty) = (w.registers.lanes(&mut w.t, register), class(w, register));
        let value = w.t.get(register);
        let lanes = vector::with_lane(w.t.e.builder(), &lanes, lane, value, ty);
        w.registers.set(&mut w.t.e, register, &lanes);
    }
}

/// The lanes' registers are in memory meanwhile: which element of a vector is a lane's is known only when
/// the loop runs, and the machine has no instruction for an element that is not a constant.
fn run_in_loop(
    w: &mut WarpCode<'_>,
    read: &[Register],
    written: &[Register],
    active: ActiveLanes,
    affine: &[(Register, LaneStrides)],
    body: impl FnOnce(&mut ThreadCode<'_>),
) {
    let firsts: SmallVec<[Value; 8]> =
        affine.iter().map(|&(register, _)| w.t.get(register)).collect();
    let mut cells: SmallVec<[(Register, StackSlot); 8]> = SmallVec::new();
    for &register in read.iter().chain(written) {
        let varies = w.registers.is_varying(register);
        if varies && !cells.iter().any(|&(known, _)| known == register) {
            let slot = w.slots.slot(&mut w.t.e, cells.len());
            cells.push((register, slot));
            if read.contains(&register) {
                let lanes = w.registers.lanes(&mut w.t, register);
                let start = w.t.e.ins().stack_addr(types::I64, slot, 0);
                store_vectors(&mut w.t.e, &lanes, start, 0);
            }
        }
    }

    let shape = w.plan.uniformity.shape();
    let in_lane = |w: &mut WarpCode<'_>, lane| {
        for (&(register, strides), &first) in affine.iter().zip(&firsts) {
            let value = lane_value(&mut w.t.e, shape, (first, strides), lane);
            w.t.set(register, value);
        }
        for &(register, slot) in cells.iter().filter(|(register, _)| read.contains(register)) {
            let class = w.registers.class(register);
            let cell = cell_address(&mut w.t.e, slot, lane, class);
            let value = load_cell(&mut w.t.e, class, cell, 0);
            w.t.set(register, value);
        }
        body(&mut w.t);
        for &(register, slot) in cells.iter().filter(|(register, _)| written.contains(register)) {
            let class = w.registers.class(register);
            let mut value = w.t.get(register);
            if class == RegisterType::Predicate {
                value = w.t.e.ins().bmask(types::I32, value);
            }
            let cell = cell_address(&mut w.t.e, slot, lane, class);
            w.t.e.ins().store(MemFlagsData::trusted(), value, cell, 0);
        }
    };
    match active {
        ActiveLanes::Bits(bits) => for_lanes(w, bits, in_lane),
        _ => for_each_lane(w, in_lane),
    }
    for &(register, slot) in cells.iter().filter(|(register, _)| written.contains(register)) {
        let class = w.registers.class(register);
        let start = w.t.e.ins().stack_addr(types::I64, slot, 0);
        let lanes = load_vectors(&mut w.t.e, class, start, 0);
        w.registers.set(&mut w.t.e, register, &lanes);
    }
}

/// A loop over all lanes, in each of which the thread is that of the lane.
fn for_each_lane(w: &mut WarpCode<'_>, body: impl FnOnce(&mut WarpCode<'_>, Value)) {
    let [head, after] = w.t.e.create_blocks();
    w.t.e.builder().append_block_param(head, types::I64);
    let zero = w.t.e.ins().iconst(types::I64, 0);
    w.t.e.ins().jump(head, &[zero.into()]);

    w.t.e.switch_to_block(head);
    let lane = w.t.e.builder().block_params(head)[0];
    let thread = thread_of(w, lane);
    let first = w.t.pointers.visit_thread(thread);
    body(w, lane);
    w.t.pointers.come_back(first);
    let next = w.t.e.ins().iadd_imm_s(lane, 1);
    let done = w.t.e.ins().icmp_imm_u(IntCC::Equal, next, 32);
    w.t.e.ins().brif(done, after, &[], head, &[next.into()]);

    w.t.e.switch_to_block(after);
}

/// A loop over the lanes in `bits`, of which there is at least one.
fn for_lanes(w: &mut WarpCode<'_>, bits: Value, body: impl FnOnce(&mut WarpCode<'_>, Value)) {
    let [head, after] = w.t.e.create_blocks();
    w.t.e.builder().append_block_param(head, types::I32);
    w.t.e.ins().jump(head, &[bits.into()]);

    w.t.e.switch_to_block(head);
    let bits = w.t.e.builder().block_params(head)[0];
    let lane = w.t.e.ins().ctz(bits);
    let lane = w.t.e.ins().uextend(types::I64, lane);
    let thread = thread_of(w, lane);
    let first = w.t.pointers.visit_thread(thread);
    body(w, lane);
    w.t.pointers.come_back(first);
    let below = w.t.e.ins().iadd_imm_s(bits, -1);
    let rest = w.t.e.ins().band(bits, below);
    let done = w.t.e.ins().icmp_imm_u(IntCC::Equal, rest, 0);
    w.t.e.ins().brif(done, after, &[], head, &[rest.into()]);

    w.t.e.switch_to_block(after);
}

/// The thread of a lane, where the current one is the first lane's.
fn thread_of(w: &mut WarpCode<'_>, lane: Value) -> Value {
    let distance = w.t.e.ins().imul_imm_s(lane, size_of::<ThreadRecord>() as i64);
    let first = w.t.pointers.thread();
    w.t.e.ins().iadd(first, distance)
}
