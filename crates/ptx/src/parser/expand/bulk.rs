//! Copies of many bytes at once without a tensor map (`cp.async.bulk`).
//!
//! They are made at once. Those to shared memory arrive at a barrier in memory, as they do on a GPU; for
//! those to global memory there is nothing to wait for.

use super::expander::Expander;
use crate::ast::Operand;
use crate::error::{Error, ErrorKind};
use crate::operation::{BulkForm, Operation};
use crate::types::ScalarType::{B16, B64, U32};
use crate::types::StateSpace;

/// Everything that begins with `cp.async.bulk.`.
pub(super) fn read(expander: &mut Expander<'_, '_>, modifiers: &str) -> Result<(), Error> {
    let mut words: Vec<&str> = modifiers.split('.').collect();
    if words.iter().any(|word| matches!(*word, "tensor" | "cp_mask")) {
        let what = if words.contains(&"tensor") { "tensor maps" } else { "masks of bulk copies" };
        return Err(expander.refusal(ErrorKind::Unsupported(what)));
    }
    match words[..] {
        ["commit_group"] => {
            expander.code().emit(Operation::Nothing, &[], &[]);
            return Ok(());
        }
        ["wait_group"] | ["wait_group", "read"] => {
            expander.cursor().integer(u64::MAX)?;
            expander.code().emit(Operation::Nothing, &[], &[]);
            return Ok(());
        }
        _ => {}
    }
    let mut take = |word: &str| {
        let at = words.iter().position(|known| *known == word);
        at.map(|at| words.remove(at)).is_some()
    };
    let (policy, multicast) = (take("L2::cache_hint"), take("multicast::cluster"));
    if let ["prefetch", "L2", "global"] = words[..] {
        return prefetch(expander, policy);
    }
    let (to, from, arrives) = match words[..] {
        [to, from, "mbarrier::complete_tx::bytes"] => (to, from, true),
        [to, from, "bulk_group"] => (to, from, false),
        _ => return Err(expander.refusal(ErrorKind::UnsupportedInstruction)),
    };
    let spaces = [to, from].map(StateSpace::from_name);
    let form = match (spaces, arrives) {
        ([Some(to @ StateSpace::Shared), Some(from)], true)
        | ([Some(to @ StateSpace::Global), Some(from @ StateSpace::Shared)], false) => {
            BulkForm { to, from, arrives }
        }
        _ => return Err(expander.refusal(ErrorKind::UnsupportedInstruction)),
    };
    copy(expander, form, (policy, multicast))
}

/// `[to], [from], bytes {, [barrier]} {, blocks} {, policy}`.
fn copy(
    expander: &mut Expander<'_, '_>,
    form: BulkForm,
    (policy, multicast): (bool, bool),
) -> Result<(), Error> {
    let mut operands = expander.operands();
    let to = Operand::Memory(operands.memory(form.to)?);
    operands.comma()?;
    let from = Operand::Memory(operands.memory(form.from)?);
    operands.comma()?;
    let mut sources = vec![to, from, operands.value(U32)?];
    if form.arrives {
        operands.comma()?;
        sources.push(Operand::Memory(operands.memory(StateSpace::Shared)?));
    }
    if multicast {
        // A cluster has one block.
        operands.comma()?;
        operands.value(B16)?;
    }
    if policy {
        operands.comma()?;
        operands.value(B64)?;
    }
    expander.code().emit(Operation::BulkCopy(form), &[], &sources);
    Ok(())
}

fn prefetch(expander: &mut Expander<'_, '_>, policy: bool) -> Result<(), Error> {
    let mut operands = expander.operands();
    operands.memory(StateSpace::Global)?;
    operands.comma()?;
    operands.value(U32)?;
    if policy {
        operands.comma()?;
        operands.value(B64)?;
    }
    expander.code().emit(Operation::Nothing, &[], &[]);
    Ok(())
}
