//! What instructions do: typed operations with their modifiers, which the code generator lowers one
//! by one.
//!
//! An operation is complete: the opcode table makes none that the code generator cannot translate.

use super::suspension::Suspension;
use super::types::{ScalarType, StateSpace};

/// The operation of an instruction.
///
/// The order of operands is the manual's. Implicit ones (the carry flag) follow the written ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    /// Copies a value.
    Move(ScalarType),
    /// Joins the sources, lowest first, into one register.
    Pack,
    /// Splits the source into the destinations, lowest first.
    Unpack,
    Integer(IntegerForm),
    Bits(BitsForm),
    Float(FloatForm),
    Compare(CompareForm),
    /// Tests what class of number the source is.
    Test(FloatClass, ScalarType),
    /// The first source where the third, a predicate, holds, else the second.
    Select(ScalarType),
    /// The first source where the third is not negative, else the second.
    SelectBySign {
        ty: ScalarType,
        tested: ScalarType,
        ftz: bool,
    },
    Convert(ConvertForm),
    ConvertBytes(ConvertBytesForm),
    Load(MemoryForm),
    Store(MemoryForm),
    Atomic(AtomicForm),
    /// An address in a space as a generic address.
    ToGeneric {
        space: StateSpace,
        bits: u32,
    },
    /// A generic address as an address in a space.
    FromGeneric {
        space: StateSpace,
        bits: u32,
    },
    /// Whether a generic address points into a space.
    IsSpace(StateSpace),
    Fence,
    /// Hints that do not change what a program computes.
    Nothing,
    /// Everything at which a thread waits for others.
    Suspend(Suspension),
    Branch,
    /// Jumps to the label that the source counts out.
    BranchTable,
    Call(Callee),
    Return,
    Exit,
    Trap,
    /// Copies a variable to another one; made by inlining only.
    CopyVariable {
        bytes: u32,
    },
}

/// An integer operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct IntegerForm {
    pub(crate) op: IntegerOp,
    pub(crate) ty: ScalarType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum IntegerOp {
    Add {
        saturate: bool,
    },
    Sub {
        saturate: bool,
    },
    Multiply(Part),
    MultiplyAdd {
        part: Part,
        saturate: bool,
    },
    /// On the low 24 bits of the sources; never [`Part::Wide`].
    Multiply24(Part),
    MultiplyAdd24 {
        part: Part,
        saturate: bool,
    },
    AddCarry(Carry),
    SubCarry(Carry),
    MultiplyAddCarry {
        part: Part,
        carry: Carry,
    },
    Divide,
    Remainder,
    Minimum,
    Maximum,
    Absolute,
    Negate,
    /// |a - b| + c.
    SumOfDifferences,
    /// Dot product of four bytes each, added to c.
    DotProduct4 {
        a_signed: bool,
        b_signed: bool,
    },
    /// Dot product of a's two halves and two of b's bytes, added to c.
    DotProduct2 {
        a_signed: bool,
        b_signed: bool,
        high: bool,
    },
}

/// Which part of a product is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    Low,
    High,
    /// All of it, in a register of twice the width.
    Wide,
}

/// Whether an operation adds the carry flag, and whether it sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Carry {
    pub(crate) takes: bool,
    pub(crate) gives: bool,
}

/// An operation on bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BitsForm {
    pub(crate) op: BitsOp,
    pub(crate) ty: ScalarType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BitsOp {
    And,
    Or,
    Xor,
    Not,
    /// 1 where the source is 0, else 0.
    LogicalNot,
    ShiftLeft,
    ShiftRight,
    /// Any function of three bits, given by its truth table.
    LogicTable(u8),
    /// Shifts a pair of registers.
    Funnel {
        left: bool,
        wrap: bool,
    },
    Permute(PermuteMode),
    PopulationCount,
    LeadingZeros,
    /// The place of the leading bit that is not the sign; as a shift amount, if asked.
    FindLeading {
        as_shift: bool,
    },
    Reverse,
    Extract,
    Insert,
    /// The place of the c-th set bit of a, counted from bit b on, or down from there.
    FindCounted,
    /// A mask of b bits from bit a on.
    Mask {
        wrap: bool,
    },
}

/// How `prmt` chooses bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PermuteMode {
    Selector,
    ForwardExtract,
    BackwardExtract,
    ReplicateByte,
    ClampLeft,
    ClampRight,
    ReplicateHalf,
}

/// A floating-point operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FloatForm {
    pub(crate) op: FloatOp,
    pub(crate) ty: ScalarType,
    pub(crate) rounding: Rounding,
    /// Subnormal operands and results count as zero.
    pub(crate) ftz: bool,
    pub(crate) clamp: Clamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FloatOp {
    Add,
    Sub,
    Multiply,
    FusedMultiplyAdd,
    Divide,
    Minimum(MinMax),
    Maximum(MinMax),
    Negate,
    Absolute,
    /// The second source with the sign of the first.
    CopySign,
    SquareRoot,
    Reciprocal,
    ReciprocalSquareRoot,
    /// `rcp.approx.ftz.f64`: only the upper halves of operand and result count.
    GrossReciprocal,
    /// `rsqrt.approx.ftz.f64`: only the upper halves of operand and result count.
    GrossReciprocalSquareRoot,
    Sine,
    Cosine,
    Log2,
    Exp2,
    Tanh,
}

/// Variants of minimum and maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MinMax {
    /// A NaN among the operands gives NaN; otherwise the other operand wins.
    pub(crate) nan: bool,
    /// Compares magnitudes, and gives the result the exclusive-or of the signs.
    pub(crate) xor_sign: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rounding {
    Nearest,
    TowardZero,
    Down,
    Up,
}

/// What is done to a floating-point result at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Clamp {
    None,
    /// To [0, 1], NaN to 0.
    Saturate,
    /// Negative to 0, NaN stays.
    Relu,
}

/// Comparison of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CompareForm {
    pub(crate) comparison: Comparison,
    pub(crate) ty: ScalarType,
    pub(crate) ftz: bool,
    /// How the result is joined with a further predicate, the third source.
    pub(crate) combine: Option<Combine>,
    /// `Pred` for `setp`; for `set` all ones or 1.0 where true, and 0 elsewhere.
    pub(crate) result: ScalarType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// As unsigned numbers, whatever the type says.
    Lower,
    LowerSame,
    Higher,
    HigherSame,
    EqualUnordered,
    NotEqualUnordered,
    LessUnordered,
    LessEqualUnordered,
    GreaterUnordered,
    GreaterEqualUnordered,
    /// Neither is NaN.
    Ordered,
    /// One of them is NaN.
    Unordered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Combine {
    And,
    Or,
    Xor,
}

/// The classes of numbers that `testp` tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FloatClass {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// Conversion between number types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ConvertForm {
    pub(crate) to: ScalarType,
    pub(crate) from: ScalarType,
    pub(crate) rounding: Rounding,
    /// Rounds to a whole number; for results that are floating-point numbers of the source's type.
    pub(crate) integral: bool,
    pub(crate) ftz: bool,
    pub(crate) clamp: Clamp,
    /// Infinities and values out of range become the largest finite number.
    pub(crate) finite: bool,
}

/// Conversion between pairs of 8-bit floating-point numbers and wider ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ConvertBytesForm {
    pub(crate) to: ScalarType,
    /// `F32` for two sources, the first one for the upper byte; else a pair.
    pub(crate) from: ScalarType,
    /// Negative numbers become 0.
    pub(crate) relu: bool,
}

/// A load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MemoryForm {
    pub(crate) space: StateSpace,
    pub(crate) ty: ScalarType,
    /// 1, 2, 4 or 8 values.
    pub(crate) count: u8,
    pub(crate) order: Order,
}

/// What a memory access promises to other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Order {
    /// Nothing: it may be moved and merged within the thread.
    Weak,
    /// It happens when it is written; also acquire.
    Strong,
    /// What the thread did before is seen by who sees this.
    Release,
}

/// An atomic operation on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AtomicForm {
    /// [`Order::Weak`] where the text says nothing, which means relaxed here.
    pub(crate) order: Order,
    pub(crate) op: AtomicOp,
    pub(crate) ty: ScalarType,
    pub(crate) space: StateSpace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AtomicOp {
    Add,
    And,
    Or,
    Xor,
    Exchange,
    CompareExchange,
    /// old >= b ? 0 : old + 1.
    Increment,
    /// old == 0 || old > b ? b : old - 1.
    Decrement,
    Minimum,
    Maximum,
}

/// What a call goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Callee {
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
