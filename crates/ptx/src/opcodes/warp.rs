//! Opcodes at which threads of a block or a warp wait for each other.

use super::form::{InstructionForm, OperandKind};
use super::modifiers::Modifiers;
use crate::error::ErrorKind;
use crate::operation::Operation;
use crate::suspension::{BarrierOp, ReduxOp, ShuffleMode, Suspension, VoteMode};
use crate::types::ScalarType::*;

const WORD: OperandKind = OperandKind::Value(B32);

/// `bar`, `barrier`.
pub(super) fn barrier(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    if modifiers.take("warp") {
        modifiers.require("sync", &[("sync", ())])?;
        return Ok(InstructionForm::new(Operation::Suspend(Suspension::WarpBarrier), &[], &[WORD]));
    }
    modifiers.take("cta");
    modifiers.take("aligned");
    let kinds = [("sync", BarrierOp::Sync), ("arrive", BarrierOp::Arrive)];
    if let Some(op) = modifiers.choose(&kinds) {
        let count = if op == BarrierOp::Arrive { WORD } else { OperandKind::Optional };
        let operation = Operation::Suspend(Suspension::Barrier(op));
        return Ok(InstructionForm::new(operation, &[], &[WORD, count]));
    }
    modifiers.require("sync, arrive or red", &[("red", ())])?;
    let reductions =
        [("popc", BarrierOp::PopulationCount), ("and", BarrierOp::And), ("or", BarrierOp::Or)];
    let op = modifiers.require("a reduction", &reductions)?;
    let result = if op == BarrierOp::PopulationCount { U32 } else { Pred };
    modifiers.scalar_of(&[result])?;
    let operation = Operation::Suspend(Suspension::Barrier(op));
    Ok(InstructionForm::new(
        operation,
        &[OperandKind::Value(result)],
        &[WORD, OperandKind::Optional, OperandKind::Condition],
    ))
}

/// `shfl.sync`.
pub(super) fn shuffle(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    sync(modifiers)?;
    let modes = [
        ("up", ShuffleMode::Up),
        ("down", ShuffleMode::Down),
        ("bfly", ShuffleMode::Butterfly),
        ("idx", ShuffleMode::Index),
    ];
    let mode = modifiers.require("a mode", &modes)?;
    modifiers.scalar_of(&[B32])?;
    let operation = Operation::Suspend(Suspension::Shuffle(mode));
    Ok(InstructionForm::new(operation, &[WORD, OperandKind::Joined(Pred)], &[WORD; 4]))
}

/// `vote.sync`.
pub(super) fn vote(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    sync(modifiers)?;
    let modes = [
        ("all", VoteMode::All),
        ("any", VoteMode::Any),
        ("uni", VoteMode::Uniform),
        ("ballot", VoteMode::Ballot),
    ];
    let mode = modifiers.require("a mode", &modes)?;
    let result = if mode == VoteMode::Ballot { B32 } else { Pred };
    modifiers.scalar_of(&[result])?;
    let operation = Operation::Suspend(Suspension::Vote(mode));
    Ok(InstructionForm::new(
        operation,
        &[OperandKind::Value(result)],
        &[OperandKind::Condition, WORD],
    ))
}

/// `match.sync`.
pub(super) fn match_lanes(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let all = modifiers.require("any or all", &[("any", false), ("all", true)])?;
    sync(modifiers)?;
    let ty = modifiers.scalar_of(&[B32, B64])?;
    let operation = Operation::Suspend(Suspension::Match { all, bits: ty.bits() });
    let destinations: &[OperandKind] =
        if all { &[WORD, OperandKind::Joined(Pred)] } else { &[WORD] };
    Ok(InstructionForm::new(operation, destinations, &[OperandKind::Value(ty), WORD]))
}

/// `redux.sync`.
pub(super) fn reduce(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    sync(modifiers)?;
    let name = modifiers.require(
        "an operation",
        &[
            ("add", "add"),
            ("min", "min"),
            ("max", "max"),
            ("and", "and"),
            ("or", "or"),
            ("xor", "xor"),
        ],
    )?;
    let arithmetic = matches!(name, "add" | "min" | "max");
    let ty = modifiers.scalar_of(if arithmetic { &[U32, S32] } else { &[B32] })?;
    let signed = ty == S32;
    let op = match name {
        "add" => ReduxOp::Add,
        "min" => ReduxOp::Minimum { signed },
        "max" => ReduxOp::Maximum { signed },
        "and" => ReduxOp::And,
        "or" => ReduxOp::Or,
        _ => ReduxOp::Xor,
    };
    Ok(InstructionForm::new(Operation::Suspend(Suspension::Reduce(op)), &[WORD], &[WORD, WORD]))
}

/// `activemask`.
pub(super) fn active_mask(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    modifiers.scalar_of(&[B32])?;
    Ok(InstructionForm::new(Operation::Suspend(Suspension::ActiveMask), &[WORD], &[]))
}

/// The forms without `sync` are gone since Volta.
fn sync(modifiers: &mut Modifiers<'_>) -> Result<(), ErrorKind> {
    modifiers.require("sync", &[("sync", ())])
}
