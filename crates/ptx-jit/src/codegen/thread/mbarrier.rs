//! Barriers in memory, and the copies that arrive there.

use cranelift_codegen::ir::{Value, types};
use ptx::{BulkForm, Instruction, MbarrierForm, Operand, ScalarType, StateSpace};

use super::access::{effective_address, locate};
use super::code::ThreadCode;
use crate::abi::{AccessInfo, AccessKind, Helper};

/// A barrier is a word of 64 bits.
const BYTES: u32 = 8;

/// An operation on a barrier in memory.
pub(super) fn mbarrier(t: &mut ThreadCode<'_>, instruction: &Instruction, form: MbarrierForm) {
    let what = match form.op.overwrites() {
        true => AccessInfo::weak(AccessKind::Write, BYTES),
        false => AccessInfo::atomic(BYTES),
    };
    let number = t.source(instruction, 1, ScalarType::B32);
    let address = locate(t, instruction.sources[0], form.space, what, None);
    let op = t.e.int(types::I32, i64::from(form.op.number()));
    let line = t.e.int(types::I32, i64::from(t.line));
    let (context, thread) = (t.pointers.context(), t.pointers.thread());
    let old = t.e.helper(Helper::Mbarrier, &[context, thread, address, op, number, line]);
    t.define(instruction, 0, old, ScalarType::B64);
}

/// A copy of as many bytes as an operand says.
pub(super) fn bulk_copy(t: &mut ThreadCode<'_>, instruction: &Instruction, form: BulkForm) {
    let to = host_address(t, instruction.sources[0], form.to);
    let from = host_address(t, instruction.sources[1], form.from);
    let bytes = t.source(instruction, 2, ScalarType::B32);
    let barrier = match form.arrives {
        true => host_address(t, instruction.sources[3], StateSpace::Shared),
        false => t.e.int(types::I64, 0),
    };
    let line = t.e.int(types::I32, i64::from(t.line));
    let (context, thread) = (t.pointers.context(), t.pointers.thread());
    let arguments = [context, thread, to, from, bytes, barrier, line];
    let refused = t.e.helper(Helper::BulkCopy, &arguments);
    let good = t.e.create_block();
    t.e.branch(refused, t.exits.fault(), good);
    t.e.switch_to_block(good);
}

/// The host address that a memory operand names, which is not checked.
fn host_address(t: &mut ThreadCode<'_>, operand: Operand, space: StateSpace) -> Value {
    let Operand::Memory(address) = operand else {
        unreachable!("the parser puts addresses where operations expect them");
    };
    let value = effective_address(t, address);
    t.spaces.with_base(&mut t.e, &t.pointers, value, space)
}
