//! Opcodes that work on bits.

use super::form::{InstructionForm, OperandKind};
use super::modifiers::Modifiers;
use crate::error::ErrorKind;
use crate::operation::{BitsForm, BitsOp, Operation, PermuteMode};
use crate::types::ScalarType::{self, *};

fn operation(op: BitsOp, ty: ScalarType) -> Operation {
    Operation::Bits(BitsForm { op, ty })
}

/// `and`, `or`, `xor`.
pub(super) fn logic(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let op = match modifiers.name {
        "and" => BitsOp::And,
        "or" => BitsOp::Or,
        _ => BitsOp::Xor,
    };
    let ty = modifiers.scalar_of(&[Pred, B16, B32, B64])?;
    Ok(InstructionForm::uniform(operation(op, ty), ty, 2))
}

/// `not`, `cnot`, `brev`.
pub(super) fn unary(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let (op, types): (_, &[ScalarType]) = match modifiers.name {
        "not" => (BitsOp::Not, &[Pred, B16, B32, B64]),
        "cnot" => (BitsOp::LogicalNot, &[B16, B32, B64]),
        _ => (BitsOp::Reverse, &[B32, B64]),
    };
    let ty = modifiers.scalar_of(types)?;
    Ok(InstructionForm::uniform(operation(op, ty), ty, 1))
}

/// `shl`, `shr`.
pub(super) fn shift(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let op = if modifiers.name == "shl" { BitsOp::ShiftLeft } else { BitsOp::ShiftRight };
    let ty = modifiers.scalar_of(&[B16, B32, B64, U16, U32, U64, S16, S32, S64])?;
    let sources = [OperandKind::Value(ty), OperandKind::Value(U32)];
    Ok(InstructionForm::new(operation(op, ty), &[OperandKind::Value(ty)], &sources))
}

/// `lop3`, whose truth table is the last operand.
pub(super) fn logic_table(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    modifiers.scalar_of(&[B32])?;
    // The parser puts the table in once it has read it.
    Ok(InstructionForm::uniform(operation(BitsOp::LogicTable(0), B32), B32, 3))
}

/// `shf`.
pub(super) fn funnel(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let left = modifiers.require("l or r", &[("l", true), ("r", false)])?;
    let wrap = modifiers.require("clamp or wrap", &[("clamp", false), ("wrap", true)])?;
    modifiers.scalar_of(&[B32])?;
    Ok(InstructionForm::uniform(operation(BitsOp::Funnel { left, wrap }, B32), B32, 3))
}

/// `prmt`.
pub(super) fn permute(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    modifiers.scalar_of(&[B32])?;
    let mode = modifiers.choose(&[
        ("f4e", PermuteMode::ForwardExtract),
        ("b4e", PermuteMode::BackwardExtract),
        ("rc8", PermuteMode::ReplicateByte),
        ("ecl", PermuteMode::ClampLeft),
        ("ecr", PermuteMode::ClampRight),
        ("rc16", PermuteMode::ReplicateHalf),
    ]);
    let op = BitsOp::Permute(mode.unwrap_or(PermuteMode::Selector));
    Ok(InstructionForm::uniform(operation(op, B32), B32, 3))
}

/// `popc`, `clz`.
pub(super) fn count(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let op = if modifiers.name == "popc" { BitsOp::PopulationCount } else { BitsOp::LeadingZeros };
    let ty = modifiers.scalar_of(&[B32, B64])?;
    Ok(InstructionForm::new(
        operation(op, ty),
        &[OperandKind::Value(U32)],
        &[OperandKind::Value(ty)],
    ))
}

/// `bfind`.
pub(super) fn find(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let as_shift = modifiers.take("shiftamt");
    let ty = modifiers.scalar_of(&[U32, S32, U64, S64])?;
    let operation = operation(BitsOp::FindLeading { as_shift }, ty);
    Ok(InstructionForm::new(operation, &[OperandKind::Value(U32)], &[OperandKind::Value(ty)]))
}

/// `fns`.
pub(super) fn find_counted(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    modifiers.scalar_of(&[B32])?;
    Ok(InstructionForm::uniform(operation(BitsOp::FindCounted, B32), B32, 3))
}

/// `bfe`.
pub(super) fn extract(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let ty = modifiers.scalar_of(&[U32, S32, U64, S64])?;
    let sources = [OperandKind::Value(ty), OperandKind::Value(U32), OperandKind::Value(U32)];
    Ok(InstructionForm::new(operation(BitsOp::Extract, ty), &[OperandKind::Value(ty)], &sources))
}

/// `bfi`.
pub(super) fn insert(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let ty = modifiers.scalar_of(&[B32, B64])?;
    let sources = [
        OperandKind::Value(ty),
        OperandKind::Value(ty),
        OperandKind::Value(U32),
        OperandKind::Value(U32),
    ];
    Ok(InstructionForm::new(operation(BitsOp::Insert, ty), &[OperandKind::Value(ty)], &sources))
}

/// `bmsk`.
pub(super) fn mask(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let wrap = modifiers.require("clamp or wrap", &[("clamp", false), ("wrap", true)])?;
    modifiers.scalar_of(&[B32])?;
    Ok(InstructionForm::uniform(operation(BitsOp::Mask { wrap }, B32), B32, 2))
}
