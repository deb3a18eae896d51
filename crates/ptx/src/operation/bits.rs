//! Operations on bits.

use crate::types::ScalarType;

/// An operation on bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BitsForm {
    /// The function that is computed.
    pub op: BitsOp,
    /// The type of the operands.
    pub ty: ScalarType,
}

/// The operations on bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitsOp {
    /// `and`
    And,
    /// `or`
    Or,
    /// `xor`
    Xor,
    /// `not`
    Not,
    /// 1 where the source is 0, else 0.
    LogicalNot,
    /// `shl`: by more than the width gives 0.
    ShiftLeft,
    /// `shr`: arithmetic for signed types.
    ShiftRight,
    /// Any function of three bits, given by its truth table.
    LogicTable(u8),
    /// Shifts a pair of registers.
    Funnel {
        /// `shf.l`: gives the upper half of the pair shifted left; else the lower half shifted right.
        left: bool,
        /// The distance counts modulo 32; else it is 32 at most.
        wrap: bool,
    },
    /// `prmt`: chooses four bytes of two registers.
    Permute(PermuteMode),
    /// `popc`
    PopulationCount,
    /// `clz`
    LeadingZeros,
    /// The index of the leading bit that is not the sign; as a shift amount, if asked.
    FindLeading {
        /// `.shiftamt`: how far to shift left to bring it to the top.
        as_shift: bool,
    },
    /// `brev`
    Reverse,
    /// `bfe`: c bits from bit b on, sign-extended for signed types.
    Extract,
    /// `bfi`: the lowest bits of a into b.
    Insert,
    /// The index of the c-th set bit of a, counted from bit b on, or down from there.
    FindCounted,
    /// A mask of b bits from bit a on.
    Mask {
        /// b and a count modulo 32; else they are 32 at most.
        wrap: bool,
    },
}

/// The modes in which `prmt` chooses bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PermuteMode {
    /// By the four digits of the selector.
    Selector,
    /// `.f4e`: four bytes upwards.
    ForwardExtract,
    /// `.b4e`: four bytes downwards.
    BackwardExtract,
    /// `.rc8`: one byte four times.
    ReplicateByte,
    /// `.ecl`
    ClampLeft,
    /// `.ecr`
    ClampRight,
    /// `.rc16`: two bytes twice.
    ReplicateHalf,
}
