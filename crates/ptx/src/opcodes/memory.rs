//! Opcodes that touch memory or compute addresses, but for atomic operations.

use smallvec::{SmallVec, smallvec};

use super::form::{InstructionForm, OperandKind};
use super::modifiers::Modifiers;
use crate::error::ErrorKind;
use crate::operation::{MemoryForm, Operation};
use crate::types::ScalarType::{self, *};
use crate::types::StateSpace;

/// `ld`, `ldu`.
pub(super) fn load(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let form = access(modifiers)?;
    let destinations = smallvec![OperandKind::Vector(form.ty, form.count)];
    let sources = smallvec![OperandKind::Memory(form.space)];
    Ok(InstructionForm { operation: Operation::Load(form), destinations, sources })
}

/// `st`.
pub(super) fn store(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let form = access(modifiers)?;
    if form.space == StateSpace::Const {
        return Err(ErrorKind::Unsupported("a store to constant memory"));
    }
    let sources =
        smallvec![OperandKind::Memory(form.space), OperandKind::Vector(form.ty, form.count)];
    Ok(InstructionForm {
        operation: Operation::Store(form),
        destinations: SmallVec::new(),
        sources,
    })
}

fn access(modifiers: &mut Modifiers<'_>) -> Result<MemoryForm, ErrorKind> {
    let order = modifiers.order();
    let space = modifiers.space();
    modifiers.cache_hints();
    let count = modifiers.choose(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let ty = modifiers.scalar()?;
    if ty == Pred || ty.is_byte_pair() || u32::from(count) * ty.bytes() > 32 {
        return Err(ErrorKind::Unsupported("an access of this type"));
    }
    Ok(MemoryForm { space, ty, count, order })
}

/// `cvta`, `cvta.to`.
pub(super) fn cvta(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let to = modifiers.take("to");
    let space = modifiers.space();
    if space == StateSpace::Generic {
        return Err(ErrorKind::MissingModifier("a state space"));
    }
    let ty = modifiers.scalar_of(ADDRESSES)?;
    let bits = ty.bits();
    let operation = match to {
        true => Operation::FromGeneric { space, bits },
        false => Operation::ToGeneric { space, bits },
    };
    Ok(InstructionForm::uniform(operation, ty, 1))
}

/// `isspacep`.
pub(super) fn is_space(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let space = modifiers.space();
    if space == StateSpace::Generic {
        return Err(ErrorKind::MissingModifier("a state space"));
    }
    Ok(InstructionForm::new(
        Operation::IsSpace(space),
        &[OperandKind::Value(Pred)],
        &[OperandKind::Value(U64)],
    ))
}

/// `membar`, `fence`.
pub(super) fn fence(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    if modifiers.name == "fence" && modifiers.take("proxy") {
        return proxy_fence(modifiers);
    }
    if modifiers.name == "fence" && modifiers.take("mbarrier_init") {
        // It orders what only other blocks of a cluster could see otherwise.
        modifiers.require("release", &[("release", ())])?;
        modifiers.require("cluster", &[("cluster", ())])?;
        return Ok(InstructionForm::new(Operation::Nothing, &[], &[]));
    }
    if modifiers.name == "fence" && !(modifiers.take("sc") || modifiers.take("acq_rel")) {
        return Err(ErrorKind::UnsupportedInstruction);
    }
    if !modifiers.scope() {
        return Err(ErrorKind::MissingModifier("a scope"));
    }
    Ok(InstructionForm::new(Operation::Fence, &[], &[]))
}

/// `fence.proxy`: there is one way to memory here, so it has nothing to order.
fn proxy_fence(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    if modifiers.choose(&[("tensormap::generic", ())]).is_some() {
        return Err(ErrorKind::Unsupported("tensor maps"));
    }
    modifiers.require("a proxy", &[("async", ()), ("alias", ())])?;
    modifiers.space();
    Ok(InstructionForm::new(Operation::Nothing, &[], &[]))
}

/// `prefetch`, `prefetchu`: nothing that a program can see.
pub(super) fn hint(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let space = modifiers.space();
    modifiers.cache_hints();
    Ok(InstructionForm::new(Operation::Nothing, &[], &[OperandKind::Memory(space)]))
}

/// `applypriority`, `discard`: hints about a line of a cache. What is discarded may hold anything,
/// also what it held.
pub(super) fn line_hint(modifiers: &mut Modifiers<'_>) -> Result<InstructionForm, ErrorKind> {
    let space = modifiers.space();
    modifiers.cache_hints();
    let sources = [OperandKind::Memory(space), OperandKind::Value(U32)];
    Ok(InstructionForm::new(Operation::Nothing, &[], &sources))
}

const ADDRESSES: &[ScalarType] = &[U32, U64];
