//! Clusters, which have one block each here, and other instructions that are simple on a machine
//! like this: `elect.sync`, `createpolicy`.

use super::expander::Expander;
use crate::ast::{Operand, SpecialRegister};
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;
use crate::operation::{BitsOp, CompareForm, Comparison, Operation};
use crate::parser::cursor::Cursor;
use crate::suspension::{BarrierOp, CLUSTER_BARRIER, Suspension};
use crate::types::ScalarType::{self, B32, B64, Pred, U32, U64};

/// `elect.sync d|p, mask`: the lowest member leads.
pub(super) fn elect(expander: &mut Expander<'_, '_>) -> Result<(), Error> {
    let mut operands = expander.operands();
    let leader = operands.result(B32)?;
    operands.cursor().expect(b'|', "`|`")?;
    let elected = operands.result(Pred)?;
    operands.comma()?;
    let mask = operands.value(B32)?;
    let mut code = expander.code();
    code.emit(Operation::Suspend(Suspension::WarpBarrier), &[], &[mask]);
    let reversed = code.bits(BitsOp::Reverse, B32, &[mask]);
    let lowest = code.bits(BitsOp::LeadingZeros, B32, &[reversed]);
    code.copy(B32, leader, lowest);
    let compare = Operation::Compare(CompareForm::integers(Comparison::Equal, U32));
    let lane = Operand::Special(SpecialRegister::Lane);
    code.emit(compare, &[elected, None], &[lowest, lane]);
    Ok(())
}

/// `barrier.cluster.arrive` and `barrier.cluster.wait`: a cluster's threads are a block's, and
/// those that wait are those that have arrived.
pub(super) fn barrier(expander: &mut Expander<'_, '_>, modifiers: &str) -> Result<(), Error> {
    let mut words = modifiers.split('.').skip(1);
    let waits = match words.next() {
        Some("arrive") => false,
        Some("wait") => true,
        _ => return Err(expander.cursor().last_error(ErrorKind::UnsupportedInstruction)),
    };
    if let Some(word) =
        words.find(|word| !["release", "relaxed", "acquire", "aligned"].contains(word))
    {
        let kind = ErrorKind::UnsupportedModifier(word.to_owned());
        return Err(expander.cursor().last_error(kind));
    }
    if waits {
        let barrier = Operation::Suspend(Suspension::Barrier(BarrierOp::Sync));
        let all = Operand::Immediate(0);
        expander.code().emit(barrier, &[], &[Operand::Immediate(CLUSTER_BARRIER), all]);
    } else {
        expander.code().emit(Operation::Fence, &[], &[]);
    }
    Ok(())
}

/// `mapa d, a, rank`: the same address, in the only block.
pub(super) fn map_to_block(expander: &mut Expander<'_, '_>, modifiers: &str) -> Result<(), Error> {
    let ty = address_type(expander.cursor(), modifiers)?;
    let mut operands = expander.operands();
    let result = operands.result(ty)?;
    operands.comma()?;
    let address = operands.address_or_value(ty)?;
    operands.comma()?;
    operands.value(U32)?;
    expander.code().copy(ty, result, address);
    Ok(())
}

/// `getctarank d, a`: the rank of the only block.
pub(super) fn rank_of_address(
    expander: &mut Expander<'_, '_>,
    modifiers: &str,
) -> Result<(), Error> {
    let ty = address_type(expander.cursor(), modifiers)?;
    let mut operands = expander.operands();
    let result = operands.result(U32)?;
    operands.comma()?;
    operands.address_or_value(ty)?;
    expander.code().copy(U32, result, Operand::Immediate(0));
    Ok(())
}

fn address_type(cursor: &Cursor<'_>, modifiers: &str) -> Result<ScalarType, Error> {
    match modifiers.strip_prefix("shared::cluster.").unwrap_or(modifiers) {
        "u32" => Ok(U32),
        "u64" => Ok(U64),
        _ => Err(cursor.last_error(ErrorKind::UnsupportedInstruction)),
    }
}

/// `createpolicy`, whose result only tells caches something.
pub(super) fn cache_policy(expander: &mut Expander<'_, '_>) -> Result<(), Error> {
    let result = expander.operands().result(B64)?;
    let cursor = expander.cursor();
    let mut depth = 0;
    while depth > 0 || !cursor.at(b';') {
        match cursor.next().kind {
            TokenKind::Punctuation(b'[') => depth += 1,
            TokenKind::Punctuation(b']') => depth -= 1,
            TokenKind::End => return Err(cursor.error(ErrorKind::Expected("`;`"))),
            _ => {}
        }
    }
    expander.code().copy(B64, result, Operand::Immediate(0));
    Ok(())
}
