//! Opcodes of atomic operations on memory.

use super::form::{InstructionForm, OperandKind};
use super::modifiers::Modifiers;
use crate::error::ErrorKind;
use crate::operation::{AtomicForm, AtomicOp, Operation};
use crate::types::ScalarType::{self, *};
use crate::types::StateSpace;

/// `atom`.
pub(super) fn atom(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let form = read(modifiers)?;
    let value = OperandKind::Value(form.ty);
    let address = OperandKind::Memory(form.space);
    let operation = Operation::Atomic(form);
    Ok(match form.op {
        AtomicOp::CompareExchange => {
            InstructionForm::new(operation, &[value], &[address, value, value])
        }
        _ => InstructionForm::new(operation, &[value], &[address, value]),
    })
}

/// `red`: an atomic operation without a result.
pub(super) fn red(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let form = read(modifiers)?;
    if matches!(form.op, AtomicOp::CompareExchange | AtomicOp::Exchange) {
        return Err(ErrorKind::UnsupportedInstruction);
    }
    let sources = [OperandKind::Memory(form.space), OperandKind::Value(form.ty)];
    Ok(InstructionForm::new(Operation::Atomic(form), &[], &sources))
}

fn read(modifiers: &mut Modifiers<'_>) -> Result<AtomicForm, ErrorKind> {
    let order = modifiers.order();
    let space = modifiers.space();
    if !matches!(space, StateSpace::Generic | StateSpace::Global | StateSpace::Shared) {
        return Err(ErrorKind::Unsupported("an atomic operation in this state space"));
    }
    modifiers.cache_hints();
    let operations = [
        ("add", AtomicOp::Add),
        ("and", AtomicOp::And),
        ("or", AtomicOp::Or),
        ("xor", AtomicOp::Xor),
        ("exch", AtomicOp::Exchange),
        ("cas", AtomicOp::CompareExchange),
        ("inc", AtomicOp::Increment),
        ("dec", AtomicOp::Decrement),
        ("min", AtomicOp::Minimum),
        ("max", AtomicOp::Maximum),
    ];
    let op = modifiers.require("an operation", &operations)?;
    modifiers.take("noftz");
    let ty = modifiers.scalar_of(types(op))?;
    Ok(AtomicForm { order, op, ty, space })
}

fn types(op: AtomicOp) -> &'static [ScalarType] {
    match op {
        AtomicOp::Add => &[U32, S32, U64, S64, F32, F64, F16, F16x2, BF16, BF16x2],
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => &[B32, B64],
        AtomicOp::Exchange => &[B32, B64],
        AtomicOp::CompareExchange => &[B16, B32, B64],
        AtomicOp::Increment | AtomicOp::Decrement => &[U32],
        AtomicOp::Minimum | AtomicOp::Maximum => &[U32, S32, U64, S64],
    }
}
