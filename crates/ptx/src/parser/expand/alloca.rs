//! Memory that a function takes from its frame while it runs: `alloca`, `stacksave`,
//! `stackrestore`.

use super::expander::Expander;
use super::writer::ExpansionWriter;
use crate::ast::{FRAME_ALIGN, Guard, Operand, VariableRef};
use crate::error::{Error, ErrorKind};
use crate::operation::{BitsOp, CompareForm, Comparison, IntegerOp, Operation};
use crate::parser::declaration::alignment;
use crate::parser::dynamic_stack::STACK_BYTES;
use crate::types::RegisterType;
use crate::types::ScalarType::{B64, Pred, U64};

/// `alloca.u64 d, size{, alignment}`.
pub(super) fn alloca(expander: &mut Expander<'_, '_>) -> Result<(), Error> {
    let mut operands = expander.operands();
    let result = operands.result(U64)?;
    operands.comma()?;
    let size = operands.value(U64)?;
    let align = optional_alignment(expander)?;
    let mut code = expander.code();
    let stack = code.function().dynamic_stack();
    let taken = Operand::Register(stack.taken);
    let add = IntegerOp::Add { saturate: false };
    let mask = Operand::Immediate((align as u64 - 1) ^ u64::MAX);
    let raised = code.integer(add, U64, &[taken, Operand::Immediate(align as u64 - 1)]);
    let start = code.bits(BitsOp::And, B64, &[raised, mask]);
    let end = code.integer(add, U64, &[start, size]);
    // A size near the largest number must not lead back into the stack.
    for amount in [size, end] {
        trap_above(&mut code, amount);
    }
    let base = code.temporary(RegisterType::Bits64);
    let address = Operand::AddressOf(VariableRef::Frame(stack.variable), 0);
    code.copy(U64, Some(base), address);
    let allocated = code.integer(add, U64, &[Operand::Register(base), start]);
    code.copy(U64, result, allocated);
    code.copy(U64, Some(stack.taken), end);
    Ok(())
}

/// Reads the alignment if one follows; 8 bytes otherwise.
fn optional_alignment(expander: &mut Expander<'_, '_>) -> Result<usize, Error> {
    let cursor = expander.cursor();
    if !cursor.accept(b',') {
        return Ok(8);
    }
    let align = alignment(cursor)?;
    if align > FRAME_ALIGN {
        return Err(cursor.last_error(ErrorKind::Unsupported("so large an alignment")));
    }
    Ok(align)
}

/// `stacksave.u64 d`.
pub(super) fn save(expander: &mut Expander<'_, '_>) -> Result<(), Error> {
    let result = expander.operands().result(U64)?;
    let mut code = expander.code();
    let taken = code.function().dynamic_stack().taken;
    code.copy(U64, result, Operand::Register(taken));
    Ok(())
}

/// `stackrestore.u64 a`.
pub(super) fn restore(expander: &mut Expander<'_, '_>) -> Result<(), Error> {
    let saved = expander.operands().value(U64)?;
    let mut code = expander.code();
    trap_above(&mut code, saved);
    let taken = code.function().dynamic_stack().taken;
    code.copy(U64, Some(taken), saved);
    Ok(())
}

/// Stops the thread where a number is larger than the stack.
fn trap_above(code: &mut ExpansionWriter<'_, '_>, amount: Operand) {
    let above = code.temporary(RegisterType::Predicate);
    // Not compared where the guard does not hold, so it must not hold there.
    code.emit_guarded(None, Operation::Move(Pred), &[Some(above)], &[Operand::Immediate(0)]);
    let compare = Operation::Compare(CompareForm::integers(Comparison::Greater, U64));
    code.emit(compare, &[Some(above), None], &[amount, Operand::Immediate(STACK_BYTES as u64)]);
    let guard = Some(Guard { register: above, negated: false });
    code.emit_guarded(guard, Operation::Trap, &[], &[]);
}
