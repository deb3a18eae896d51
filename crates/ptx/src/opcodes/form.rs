//! The form of an instruction: its operation, and the operands that its text must have.

use smallvec::SmallVec;

use crate::operation::Operation;
use crate::types::{ScalarType, StateSpace};

/// The operation that an opcode with its modifiers means, and the operands that must follow it.
#[derive(Clone, Debug)]
pub(crate) struct InstructionForm {
    pub(crate) operation: Operation,
    pub(crate) destinations: SmallVec<[OperandKind; 2]>,
    pub(crate) sources: SmallVec<[OperandKind; 4]>,
}

/// The kind of operand that must stand at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandKind {
    /// A value of exactly that width.
    Value(ScalarType),
    /// A value of a type in a register that may be wider.
    Wide(ScalarType),
    /// So many values in braces, in registers that may be wider; one value stands without braces.
    Vector(ScalarType, u8),
    /// A predicate that may stand negated.
    Condition,
    /// A second destination after `|`, which may be left out: a predicate, or a value.
    Joined(ScalarType),
    /// A 32-bit value that may be left out, which counts as 0.
    Optional,
    /// A location in memory.
    Memory(StateSpace),
    /// The carry flag, which is not written.
    Carry,
    /// A cache policy at the end, which does not matter here.
    Ignored,
}

impl InstructionForm {
    pub(super) fn new(
        operation: Operation,
        destinations: &[OperandKind],
        sources: &[OperandKind],
    ) -> InstructionForm {
        InstructionForm { operation, destinations: destinations.into(), sources: sources.into() }
    }

    /// One destination and so many sources, all of one type.
    pub(super) fn uniform(operation: Operation, ty: ScalarType, sources: usize) -> InstructionForm {
        InstructionForm {
            operation,
            destinations: [OperandKind::Value(ty)].as_slice().into(),
            sources: SmallVec::from_elem(OperandKind::Value(ty), sources),
        }
    }
}
