//! What instructions do: typed operations with their modifiers.
//!
//! An operation is complete and valid: the opcode table makes none that PTX does not have.

mod bits;
mod compare;
mod convert;
mod float;
mod integer;
mod mbarrier;
mod memory;

pub use bits::{BitsForm, BitsOp, PermuteMode};
pub use compare::{Combine, CompareForm, Comparison, FloatClass};
pub use convert::{ConvertBytesForm, ConvertForm};
pub use float::{Clamp, FloatForm, FloatOp, MinMax, Rounding};
pub use integer::{Carry, IntegerForm, IntegerOp, ProductPart};
pub use mbarrier::{BulkForm, MbarrierForm, MbarrierOp};
pub use memory::{AtomicForm, AtomicOp, CopyGroup, MemoryForm, MemoryOrder};

use super::suspension::Suspension;
use super::types::{ScalarType, StateSpace};

/// The operation of an instruction.
///
/// The order of operands is the manual's. Implicit ones (the carry flag) follow the written ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Copies a value.
    Move(ScalarType),
    /// Joins the sources, lowest first, into one register.
    Pack,
    /// Splits the source into the destinations, lowest first.
    Unpack,
    /// Arithmetic on integers.
    Integer(IntegerForm),
    /// Logic, shifts and the like.
    Bits(BitsForm),
    /// Arithmetic on floating-point numbers.
    Float(FloatForm),
    /// `setp`, `set`
    Compare(CompareForm),
    /// Tests what class of number the source is.
    Test(FloatClass, ScalarType),
    /// The first source where the third, a predicate, holds, else the second.
    Select(ScalarType),
    /// The first source where the third is not negative, else the second.
    SelectBySign {
        /// The type of the two values.
        ty: ScalarType,
        /// The type of the third source.
        tested: ScalarType,
        /// A subnormal third source counts as zero.
        ftz: bool,
    },
    /// `cvt` between single numbers, and from two numbers to a packed pair.
    Convert(ConvertForm),
    /// `cvt` from or to pairs of 8-bit floating-point numbers.
    ConvertBytes(ConvertBytesForm),
    /// `ld`, `ldu`
    Load(MemoryForm),
    /// `st`
    Store(MemoryForm),
    /// `atom`, `red`
    Atomic(AtomicForm),
    /// `mbarrier` and what arrives there. Sources: the barrier, a number. Destination: its word of before.
    Mbarrier(MbarrierForm),
    /// `cp.async.bulk`. Sources: the destination, the source, the bytes, and the barrier at which these
    /// arrive, if they do.
    BulkCopy(BulkForm),
    /// An address in a space as a generic address.
    ToGeneric {
        /// The space that the address points to.
        space: StateSpace,
        /// The width of the address.
        bits: u32,
    },
    /// A generic address as an address in a space.
    FromGeneric {
        /// The space that the address points to.
        space: StateSpace,
        /// The width of the address.
        bits: u32,
    },
    /// Whether a generic address points into a space.
    IsSpace(StateSpace),
    /// `membar`, `fence`
    Fence,
    /// `cp.async.commit_group`, `cp.async.wait_group`
    CopyGroup(CopyGroup),
    /// Hints that do not change what a program computes.
    Nothing,
    /// Everything at which a thread waits for others.
    Suspend(Suspension),
    /// `bra`
    Branch,
    /// Jumps to the label that the source counts out.
    BranchTable,
    /// `call`
    Call(Callee),
    /// `ret`
    Return,
    /// `exit`: ends the thread.
    Exit,
    /// `trap`: ends the launch with an error.
    Trap,
    /// Copies a variable to another one; made by inlining only.
    CopyVariable {
        /// The size of the variable.
        bytes: u32,
    },
}

/// The target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    /// The function with that index in the module.
    Function(usize),
    /// `vprintf`.
    Print,
    /// `__assertfail`.
    AssertFail,
    /// `malloc`.
    Allocate,
    /// `free`.
    Release,
}
