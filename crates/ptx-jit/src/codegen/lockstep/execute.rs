//! Instructions of a warp: once for all lanes, as vectors, or lane by lane.

use ptx::{Guard, Instruction, Operand, Operation, Register, ScalarType};

use super::access_groups::checked_place;
use super::affine::does_not_wrap;
use super::code::WarpCode;
use super::divergence::leave_lockstep;
use super::lane_loop::by_lanes;
use super::memory::access;
use crate::codegen::signature::source_types;
use crate::codegen::thread::operation;
use crate::codegen::vector::{self, Lanes};
use crate::ir::{Uniformity, is_for_each_lane, wraps};

/// Lowers an instruction that neither jumps nor waits.
pub(super) fn execute(w: &mut WarpCode<'_>, instruction: &Instruction) {
    match instruction.guard {
        Some(guard) if w.registers.is_varying(guard.register) => masked(w, instruction, guard),
        _ => under_uniform_guard(w, instruction, unguarded),
    }
}

/// Lowers something that all lanes do if the guard of an instruction, which they share, holds.
pub(super) fn under_uniform_guard(
    w: &mut WarpCode<'_>,
    instruction: &Instruction,
    body: impl FnOnce(&mut WarpCode<'_>, &Instruction),
) {
    let Some(guard) = instruction.guard else {
        return body(w, instruction);
    };
    let [then, after] = w.t.e.create_blocks();
    let holds = w.t.get(guard.register);
    let (yes, no) = if guard.negated { (after, then) } else { (then, after) };
    w.t.e.branch(holds, yes, no);
    w.t.e.switch_to_block(then);
    body(w, &Instruction { guard: None, ..instruction.clone() });
    w.t.e.jump(after);
    w.t.e.switch_to_block(after);
}

/// An instruction that all lanes execute.
fn unguarded(w: &mut WarpCode<'_>, instruction: &Instruction) {
    if is_for_each_lane(w.registers.function(), instruction) {
        return by_lanes(w, instruction);
    }
    if is_uniform(w, instruction) || is_affine(w, instruction) {
        return once(w, instruction);
    }
    if !access(w, instruction, None) && !as_vectors(w, instruction, None) {
        by_lanes(w, instruction);
    }
}

/// An instruction that each lane executes only if its guard holds: all lanes compute, and a select by
/// the mask keeps the old values of those that do not take part. What can fault or is seen by others
/// must not be done for them, so it has a mask of its own or goes lane by lane.
fn masked(w: &mut WarpCode<'_>, instruction: &Instruction, guard: Guard) {
    let each = is_for_each_lane(w.registers.function(), instruction);
    let guard = Some(guard);
    if each || !access(w, instruction, guard) && !as_vectors(w, instruction, guard) {
        by_lanes(w, instruction);
    }
}

/// Whether all lanes do the same with the same operands.
fn is_uniform(w: &WarpCode<'_>, instruction: &Instruction) -> bool {
    instruction.sources.iter().all(|&source| w.registers.is_uniform(source))
}

/// Whether the result is affine; its first lane's value is then what the first lane computes.
fn is_affine(w: &WarpCode<'_>, instruction: &Instruction) -> bool {
    !instruction.destinations.is_empty()
        && w.plan.uniformity.result(w.registers.function(), instruction) != Uniformity::Varying
}

/// The instruction in the first lane, from which the results of all follow.
fn once(w: &mut WarpCode<'_>, instruction: &Instruction) {
    let uniformity = match is_uniform(w, instruction) {
        true => Uniformity::Uniform,
        false => w.plan.uniformity.result(w.registers.function(), instruction),
    };
    if let Some(index) = wraps(&w.plan.uniformity, w.registers.function(), instruction) {
        leave_if_wrapping(w, instruction, index);
    }
    w.t.checked_place = checked_place(w);
    operation(&mut w.t, instruction);
    w.t.checked_place = None;
    for &register in instruction.destinations.iter().flatten() {
        if w.registers.is_varying(register) {
            let value = w.t.get(register);
            let class = w.registers.class(register);
            let lanes = w.registers.spread(&mut w.t.e, value, uniformity, class);
            w.registers.set(&mut w.t.e, register, &lanes);
        }
    }
}

/// Leaves the lockstep if the lanes' values of an affine operand wrap. Widened, they would not lie at
/// equal distances; and to take all widened indices as varying would make a vector of each address.
fn leave_if_wrapping(w: &mut WarpCode<'_>, instruction: &Instruction, index: usize) {
    let Operand::Register(register) = instruction.sources[index] else {
        return;
    };
    let (Uniformity::Affine(strides), Some(ty)) =
        (w.registers.uniformity(register), crate::ir::widened(instruction))
    else {
        return;
    };
    let first = w.t.get(register);
    let fits =
        does_not_wrap(&mut w.t.e, w.plan.uniformity.shape(), (first, strides), ty.is_signed());
    let [together, apart] = w.t.e.create_blocks();
    w.t.e.set_cold_block(apart);
    w.t.e.branch(fits, together, apart);
    w.t.e.switch_to_block(apart);
    leave_lockstep(w);
    w.t.e.switch_to_block(together);
}

/// `mov` of several values into one or of one into several.
fn pack_or_unpack(w: &mut WarpCode<'_>, instruction: &Instruction, guard: Option<Guard>) -> bool {
    let class = |register: Register| w.registers.class(register);
    let whole_of = |part: u32, count: usize| ScalarType::untyped(part * count as u32);
    match instruction.operation {
        Operation::Pack => {
            let Some(register) = instruction.destinations[0] else {
                return true;
            };
            let whole = ScalarType::untyped(class(register).bits());
            let part = ScalarType::untyped(whole.bits() / instruction.sources.len() as u32);
            let parts: Option<Vec<Lanes>> = instruction
                .sources
                .iter()
                .map(|&source| w.registers.operand(&mut w.t, source, part))
                .collect();
            let Some(parts) = parts else {
                return false;
            };
            let joined = vector::join(w.t.e.builder(), &parts, part, whole);
            w.registers.write(&mut w.t, register, &joined, whole, guard);
        }
        Operation::Unpack => {
            let Some(&first) = instruction.destinations.iter().flatten().next() else {
                return true;
            };
            let part = ScalarType::untyped(class(first).bits());
            let whole = whole_of(part.bits(), instruction.destinations.len());
            let Some(lanes) = w.registers.operand(&mut w.t, instruction.sources[0], whole) else {
                return false;
            };
            for (index, &register) in instruction.destinations.iter().enumerate() {
                if let Some(register) = register {
                    let lanes = vector::part(w.t.e.builder(), &lanes, whole, index, part);
                    w.registers.write(&mut w.t, register, &lanes, part, guard);
                }
            }
        }
        _ => return false,
    }
    true
}

/// Vector operations on all lanes; whether there are some.
fn as_vectors(w: &mut WarpCode<'_>, instruction: &Instruction, guard: Option<Guard>) -> bool {
    if matches!(instruction.operation, Operation::Pack | Operation::Unpack) {
        return pack_or_unpack(w, instruction, guard);
    }
    let count = instruction.sources.len();
    let types = source_types(instruction.operation, count);
    let Some(types) = types.filter(|types| types.len() >= count) else {
        return false;
    };
    let mut operands: Vec<Lanes> = Vec::with_capacity(instruction.sources.len());
    for (&source, &ty) in instruction.sources.iter().zip(&types) {
        match w.registers.operand(&mut w.t, source, ty) {
            Some(lanes) => operands.push(lanes),
            None => return false,
        }
    }
    let observed = w.t.is_observed(instruction);
    let operation = instruction.operation;
    let results = vector::operation(w.t.e.builder(), operation, &operands, observed);
    let Some(results) = results else {
        return false;
    };
    for (&register, (lanes, ty)) in instruction.destinations.iter().zip(results) {
        if let Some(register) = register {
            w.registers.write(&mut w.t, register, &lanes, ty, guard);
        }
    }
    true
}
