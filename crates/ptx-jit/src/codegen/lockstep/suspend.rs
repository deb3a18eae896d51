//! Where the lanes of a warp wait for each other, or the warp for others.

use std::mem::offset_of;

use cranelift_codegen::ir::{self as clif, InstBuilder, MemFlagsData, Value, types};
use ptx::control_flow::RegisterSet;
use ptx::{BarrierOp, Instruction, RegisterType, ScalarType, Suspension};
use smallvec::SmallVec;

use super::code::WarpCode;
use super::collective::{collective, give_all};
use super::divergence::{leave_here, leave_lockstep};
use super::round_robin::RoundRobin;
use crate::abi::{Helper, LANES, SUSPENDED, WarpRecord};
use crate::codegen::emitter::Emitter;
use crate::codegen::thread::operand_types;
use crate::codegen::vector::{self, Lanes};

/// An instruction at which the lanes of a warp wait for each other, or the warp for others.
pub(super) fn suspend(
    w: &mut WarpCode<'_>,
    turns: &RoundRobin,
    instruction: &Instruction,
    suspension: Suspension,
) {
    match suspension {
        Suspension::Barrier(_) | Suspension::Phase { .. } => {
            barrier(w, turns, instruction, suspension)
        }
        Suspension::ActiveMask => {
            let all = w.t.e.int(types::I32, -1);
            give_all(w, instruction, &[all]);
        }
        _ if collective(w, instruction, suspension) => {}
        _ => exchange(w, instruction, suspension),
    }
}

/// A barrier of the block, at which the warp arrives as one, or the wait for a phase of one in memory.
fn barrier(
    w: &mut WarpCode<'_>,
    turns: &RoundRobin,
    instruction: &Instruction,
    suspension: Suspension,
) {
    let uniform = |index: usize| w.registers.is_uniform(instruction.sources[index]);
    if !uniform(0) || !uniform(1) {
        return leave_here(w);
    }
    let mut operands: SmallVec<[Value; 3]> = SmallVec::new();
    for (index, &ty) in operand_types(suspension).iter().enumerate() {
        operands.push(match ty {
            ScalarType::Pred => {
                let Some(mask) = w.registers.operand(&mut w.t, instruction.sources[index], ty)
                else {
                    return leave_here(w);
                };
                let bits = vector::bits(w.t.e.builder(), &mask);
                w.t.e.ins().popcnt(bits)
            }
            ty => w.t.source(instruction, index, ty),
        });
    }
    let plan = w.plan;
    let mut live = plan.resumable.liveness.live_in(w.flow.current() + 1).clone();
    for &register in instruction.destinations.iter().flatten() {
        live.remove(register);
    }
    w.keep_registers(&live);
    let (resumption, state) = w.resumption.add(w.t.e.builder(), Some((suspension, w.t.line)));
    let remains = suspension != Suspension::Barrier(BarrierOp::Sync)
        || wait_in_turn(w, turns, instruction, &operands, (resumption, state));
    if remains {
        leave_for_now(w, state, &operands);
    }
    turns.go_on(w, resumption, &live);
    if !instruction.destinations.is_empty() {
        let result = w.frame().load(&mut w.t.e, types::I32, offset_of!(WarpRecord, result));
        give_all(w, instruction, &[result]);
    }
}

/// Lets others go first, in a loop that waits for what they do.
pub(super) fn give_way(w: &mut WarpCode<'_>, turns: &RoundRobin, live: &RegisterSet) {
    w.keep_registers(live);
    let (resumption, state) =
        w.resumption.add(w.t.e.builder(), Some((Suspension::Yield, w.t.line)));
    leave_for_now(w, state, &[]);
    turns.go_on(w, resumption, live);
}

/// Returns to the scheduler, with what the warp hands to a barrier.
fn leave_for_now(w: &mut WarpCode<'_>, state: u32, operands: &[Value]) {
    for (index, &operand) in operands.iter().enumerate() {
        w.frame().store(&mut w.t.e, operand, offset_of!(WarpRecord, operands) + 4 * index);
    }
    let state = w.t.e.int(types::I32, i64::from(state));
    w.frame().store(&mut w.t.e, state, offset_of!(WarpRecord, state));
    let suspended = w.t.e.int(types::I32, i64::from(SUSPENDED));
    w.return_to_scheduler(suspended);
}

/// Waits at the barrier 0 for all threads of the block, which the warps that take turns do by
/// themselves; whether the barrier may be another one, for which what is lowered next is executed.
fn wait_in_turn(
    w: &mut WarpCode<'_>,
    turns: &RoundRobin,
    instruction: &Instruction,
    operands: &[Value],
    (resumption, state): (clif::Block, u32),
) -> bool {
    let constant = |index: usize| w.plan.uniformity.constant(instruction.sources[index]);
    if (constant(0), constant(1)) == (Some(0), Some(0)) {
        turns.take_turn(w, resumption, state);
        return false;
    }
    let (turn, others) = (w.t.e.create_block(), w.t.e.create_block());
    w.t.e.set_cold_block(others);
    let any = w.t.e.ins().bor(operands[0], operands[1]);
    w.t.e.branch(any, others, turn);
    w.t.e.switch_to_block(turn);
    turns.take_turn(w, resumption, state);
    w.t.e.switch_to_block(others);
    true
}

/// An operation among the lanes, which are all there, by way of the runtime.
fn exchange(w: &mut WarpCode<'_>, instruction: &Instruction, suspension: Suspension) {
    let types = operand_types(suspension);
    let mut operands: SmallVec<[(Lanes, ScalarType); 4]> = SmallVec::new();
    for (index, &ty) in types.iter().enumerate() {
        match w.registers.operand(&mut w.t, instruction.sources[index], ty) {
            Some(lanes) => operands.push((lanes, ty)),
            None => return leave_here(w),
        }
    }
    let record = w.frame().record();
    for (index, (lanes, ty)) in operands.iter().enumerate() {
        let (lanes, ty) = match ty {
            // Masks as 0 and 1.
            ScalarType::Pred => {
                let ones = vector::constant(w.t.e.builder(), 1, ScalarType::B32);
                let bits = lanes.values.iter().zip(ones.values);
                let bits = bits.map(|(&mask, one)| w.t.e.ins().band(mask, one));
                (Lanes { values: bits.collect() }, ScalarType::B32)
            }
            ty => (lanes.clone(), *ty),
        };
        let wide = vector::resize(w.t.e.builder(), &lanes, ty, ScalarType::B64);
        let offset = offset_of!(WarpRecord, given) + 8 * LANES * index;
        store_lanes(&mut w.t.e, &wide, record, offset as i32);
    }
    let point = w.records.add_suspend_point(suspension, w.t.line);
    let point = w.t.e.int(types::I32, point);
    let arguments = [w.t.pointers.context(), record, point];
    let refused = w.t.e.cold_helper(Helper::Exchange, &arguments);
    let [apart, together] = w.t.e.create_blocks();
    w.t.e.set_cold_block(apart);
    w.t.e.branch(refused, apart, together);
    w.t.e.switch_to_block(apart);
    leave_lockstep(w);
    w.t.e.switch_to_block(together);
    for (index, &register) in instruction.destinations.iter().enumerate() {
        let Some(register) = register else {
            continue;
        };
        let offset = offset_of!(WarpRecord, taken) + 8 * LANES * index;
        take(w, register, record, offset as i32);
    }
}

/// A result of an operation among the lanes, from the record.
fn take(w: &mut WarpCode<'_>, register: ptx::Register, record: Value, offset: i32) {
    let class = w.registers.class(register);
    if !w.registers.is_varying(register) {
        let flags = MemFlagsData::trusted();
        let ty = if class.bits() == 64 { types::I64 } else { types::I32 };
        let mut value = w.t.e.ins().load(ty, flags, record, offset);
        if class == RegisterType::Predicate {
            value = w.t.e.resize(value, types::I8, false);
        }
        return w.t.registers.write(&mut w.t.e, register, value, false);
    }
    let flags = MemFlagsData::new().with_notrap();
    let values =
        (0..16).map(|index| w.t.e.ins().load(types::I64X2, flags, record, offset + 16 * index));
    let lanes = Lanes { values: values.collect() };
    let lanes = match class {
        RegisterType::Predicate => {
            let lanes = vector::resize(w.t.e.builder(), &lanes, ScalarType::B64, ScalarType::B32);
            let not = lanes.values.iter().map(|&value| w.t.e.ins().ineg(value));
            Lanes { values: not.collect() }
        }
        _ => vector::write(w.t.e.builder(), &lanes, ScalarType::B64, class),
    };
    w.registers.set(&mut w.t.e, register, &lanes);
}

fn store_lanes(e: &mut Emitter<'_>, lanes: &Lanes, place: Value, offset: i32) {
    let flags = MemFlagsData::new().with_notrap();
    for (index, &value) in lanes.values.iter().enumerate() {
        e.ins().store(flags, value, place, offset + 16 * index as i32);
    }
}
