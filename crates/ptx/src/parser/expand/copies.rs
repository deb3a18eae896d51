//! Copies from global to shared memory that a program waits for later (`cp.async`).
//!
//! They are made at once, as a load and a store, and there is nothing to wait for: a program that
//! waits before it reads sees what it would see on a GPU. One that reads too early does, too, and no
//! check tells it.

use super::expander::Expander;
use crate::ast::Operand;
use crate::error::{Error, ErrorKind};
use crate::operation::{MemoryForm, MemoryOrder, Operation};
use crate::types::ScalarType::{B32, B64};
use crate::types::{RegisterType, StateSpace};

/// `cp.async.{ca,cg}.shared.global [to], [from], bytes`, `cp.async.commit_group`,
/// `cp.async.wait_group n`, `cp.async.wait_all`.
pub(super) fn asynchronous(expander: &mut Expander<'_, '_>, modifiers: &str) -> Result<(), Error> {
    let mut words: Vec<&str> = modifiers.split('.').collect();
    match words[..] {
        ["commit_group" | "wait_all"] => {
            expander.code().emit(Operation::Nothing, &[], &[]);
            return Ok(());
        }
        ["wait_group"] => {
            expander.cursor().integer(u64::MAX)?;
            expander.code().emit(Operation::Nothing, &[], &[]);
            return Ok(());
        }
        ["bulk", ..] => {
            return Err(expander.refusal(ErrorKind::Unsupported("bulk copies")));
        }
        _ => {}
    }
    let policy = words.contains(&"L2::cache_hint");
    words.retain(|word| !word.starts_with("L2::"));
    let ["ca" | "cg", "shared" | "shared::cta", "global"] = words[..] else {
        return Err(expander.refusal(ErrorKind::UnsupportedInstruction));
    };
    copy(expander, policy, words[0] == "cg")
}

fn copy(expander: &mut Expander<'_, '_>, policy: bool, whole_lines: bool) -> Result<(), Error> {
    let mut operands = expander.operands();
    let to = Operand::Memory(operands.memory(StateSpace::Shared)?);
    operands.comma()?;
    let from = Operand::Memory(operands.memory(StateSpace::Global)?);
    operands.comma()?;
    let bytes = operands.cursor().integer(16)?;
    let count = match bytes {
        16 => 4,
        4 | 8 if !whole_lines => bytes as u8 / 4,
        _ => return Err(operands.cursor().last_error(ErrorKind::InvalidNumber)),
    };
    if policy {
        operands.comma()?;
        operands.value(B64)?;
    }
    if operands.cursor().at(b',') {
        let kind = ErrorKind::Unsupported("cp.async of fewer bytes than it writes");
        return Err(operands.cursor().error(kind));
    }
    let mut code = expander.code();
    let words: Vec<_> = (0..count).map(|_| code.temporary(RegisterType::Bits32)).collect();
    let form = |space| MemoryForm { space, ty: B32, count, order: MemoryOrder::Weak };
    let loaded: Vec<_> = words.iter().copied().map(Some).collect();
    code.emit(Operation::Load(form(StateSpace::Global)), &loaded, &[from]);
    let mut sources = vec![to];
    sources.extend(words.into_iter().map(Operand::Register));
    code.emit(Operation::Store(form(StateSpace::Shared)), &[], &sources);
    Ok(())
}
