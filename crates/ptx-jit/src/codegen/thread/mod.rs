//! The lowering of one thread's code: a kernel whose threads run one after the other, a kernel that
//! runs a thread until it must wait, a function that is called, and what a lane of a warp does by
//! itself.

mod access;
mod atomic;
mod call;
mod cells;
mod code;
mod exits;
mod lowering;
mod mbarrier;
mod memory;
mod pointers;
mod registers;
mod spaces;
mod special;
mod suspend;
mod thread_loop;

use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{CopyGroup, Instruction, Operation, ScalarType};
use smallvec::SmallVec;

use super::scalar;
use super::signature::source_types;
use super::types::{integer_type, register_type};
use crate::abi::{COMMIT, CheckLevel, Helper};

pub(super) use access::effective_address;
pub(super) use code::ThreadCode;
pub(super) use lowering::{Lowering, Start, begin, leave};
pub(crate) use pointers::SpaceWindow;
pub(super) use suspend::operand_types;

/// Lowers an instruction with its guard.
pub(super) fn guarded(t: &mut ThreadCode<'_>, instruction: &Instruction) {
    under_guard(t, instruction, |t| operation(t, instruction));
}

/// Lowers something that is done where an instruction's guard holds.
fn under_guard<'a>(
    t: &mut ThreadCode<'a>,
    instruction: &Instruction,
    body: impl FnOnce(&mut ThreadCode<'a>),
) {
    let Some(guard) = instruction.guard else {
        return body(t);
    };
    let [then, after] = t.e.create_blocks();
    let predicate = t.get(guard.register);
    let (yes, no) = if guard.negated { (after, then) } else { (then, after) };
    t.e.branch(predicate, yes, no);
    t.e.switch_to_block(then);
    body(t);
    t.e.jump(after);
    t.e.switch_to_block(after);
}

/// Lowers an instruction that neither jumps nor waits, whose guard holds.
pub(super) fn operation(t: &mut ThreadCode<'_>, instruction: &Instruction) {
    match instruction.operation {
        Operation::Pack => pack(t, instruction),
        Operation::Unpack => unpack(t, instruction),
        Operation::Load(form) => memory::load(t, instruction, form),
        Operation::Store(form) => memory::store(t, instruction, form),
        Operation::Atomic(form) => atomic::atomic(t, instruction, form),
        Operation::Mbarrier(form) => mbarrier::mbarrier(t, instruction, form),
        Operation::BulkCopy(form) => mbarrier::bulk_copy(t, instruction, form),
        Operation::ToGeneric { space, bits } => memory::cvta(t, instruction, space, bits),
        Operation::FromGeneric { space, bits } => memory::cvta_to(t, instruction, space, bits),
        Operation::IsSpace(space) => memory::is_space(t, instruction, space),
        Operation::Fence => fence(t),
        Operation::CopyGroup(step) => copy_group(t, step),
        Operation::Call(callee) => call::call(t, instruction, callee),
        Operation::CopyVariable { bytes } => memory::copy_variable(t, instruction, bytes),
        Operation::Nothing
        | Operation::Branch
        | Operation::BranchTable
        | Operation::Return
        | Operation::Exit
        | Operation::Trap
        | Operation::Suspend(_) => {}
        _ => of_values(t, instruction),
    }
}

/// Lowers an operation on values: sources are read, and results are written, as its signature says.
fn of_values(t: &mut ThreadCode<'_>, instruction: &Instruction) {
    let sources = &instruction.sources;
    let types = source_types(instruction.operation, sources.len());
    let types = types.expect("operations on values have a signature");
    let operands: SmallVec<[Value; 4]> =
        sources.iter().zip(types).map(|(&source, ty)| t.operand(source, ty)).collect();
    let observed = t.is_observed(instruction);
    let results = scalar::operation(&mut t.e, instruction, &operands, observed);
    let results = results.expect("operations on values are lowered for one thread");
    for (index, (value, ty)) in results.into_iter().enumerate() {
        t.define(instruction, index, value, ty);
    }
}

fn fence(t: &mut ThreadCode<'_>) {
    t.e.ins().fence();
    if t.spaces.check() == CheckLevel::Full {
        t.e.call_helper(Helper::Fence, &[t.pointers.context(), t.pointers.thread()]);
    }
}

/// Copies have been made at once; checked mode wants to know when they would be.
fn copy_group(t: &mut ThreadCode<'_>, step: CopyGroup) {
    if t.spaces.check() == CheckLevel::Full {
        let step = match step {
            CopyGroup::Commit => COMMIT,
            CopyGroup::Wait { pending } => pending.min(COMMIT - 1),
        };
        let step = t.e.int(types::I32, i64::from(step));
        t.e.call_helper(Helper::CopyGroup, &[t.pointers.context(), t.pointers.thread(), step]);
    }
}

/// `mov d, {a, b, ..}`.
fn pack(t: &mut ThreadCode<'_>, instruction: &Instruction) {
    let Some(register) = instruction.destinations.first().copied().flatten() else {
        return;
    };
    let whole = t.registers.class(register).bits();
    let bits = whole / instruction.sources.len() as u32;
    let ty = ScalarType::untyped(bits);
    let parts: SmallVec<[Value; 4]> =
        instruction.sources.iter().map(|&source| t.operand(source, ty)).collect();
    let joined = scalar::join(&mut t.e, &parts, bits, integer_type(whole));
    t.registers.write(&mut t.e, register, joined, false);
}

/// `mov {a, b, ..}, s`.
fn unpack(t: &mut ThreadCode<'_>, instruction: &Instruction) {
    let Some(first) = instruction.destinations.iter().copied().flatten().next() else {
        return;
    };
    let part = register_type(t.registers.class(first)).as_int();
    let whole = part.bits() * instruction.destinations.len() as u32;
    let value = t.source(instruction, 0, ScalarType::untyped(whole));
    for (index, destination) in instruction.destinations.iter().enumerate() {
        if let Some(register) = *destination {
            let low = scalar::part(&mut t.e, value, index, part);
            t.registers.write(&mut t.e, register, low, false);
        }
    }
}
