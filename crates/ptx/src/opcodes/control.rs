//! Opcodes of control flow that take no label.

use super::form::{InstructionForm, OperandKind};
use super::modifiers::Modifiers;
use crate::error::ErrorKind;
use crate::operation::Operation;
use crate::suspension::Suspension;
use crate::types::ScalarType::U32;

/// `ret`.
pub(super) fn ret(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    modifiers.take("uni");
    Ok(InstructionForm::new(Operation::Return, &[], &[]))
}

/// `exit`.
pub(super) fn exit(_: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    Ok(InstructionForm::new(Operation::Exit, &[], &[]))
}

/// `trap`, and `brkpt`, which without a debugger does the same.
pub(super) fn trap(_: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    Ok(InstructionForm::new(Operation::Trap, &[], &[]))
}

/// `nanosleep`: the other threads get their turn.
pub(super) fn nanosleep(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    modifiers.scalar_of(&[U32])?;
    let operation = Operation::Suspend(Suspension::Yield);
    Ok(InstructionForm::new(operation, &[], &[OperandKind::Value(U32)]))
}

/// `pmevent`: a mark for profilers.
pub(super) fn event(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    modifiers.take("mask");
    Ok(InstructionForm::new(Operation::Nothing, &[], &[OperandKind::Value(U32)]))
}

/// `griddepcontrol`: a grid starts when the one before it has ended, so there is nothing to wait
/// for.
pub(super) fn grid_dependency(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    modifiers.require("an action", &[("launch_dependents", ()), ("wait", ())])?;
    Ok(InstructionForm::new(Operation::Nothing, &[], &[]))
}
