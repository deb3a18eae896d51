//! The dtypes of elementwise operations: the rules by which they follow from the operands.

use crate::promote::{Typed, result_type};
use crate::{DType, default_dtype};

/// The rule by which the dtype that an operation computes in follows from its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ops) enum Promotion {
    /// The dtype that the operands are promoted to (`torch.result_type`).
    Common,
    /// The same where it is a float, else the default dtype (`div`, `exp`).
    Float,
}

impl Promotion {
    /// The dtype of an operation on these operands.
    #[inline]
    pub(in crate::ops) fn dtype(self, operands: &[Typed]) -> DType {
        match result_type(operands) {
            common if self == Promotion::Float && !common.is_float() => default_dtype(),
            common => common,
        }
    }
}

/// A set of kinds of dtypes: those that an operation can compute in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ops) struct Kinds(u8);

impl Kinds {
    /// `F32` and `F64`.
    pub(in crate::ops) const FULL_FLOATS: Kinds = Kinds(1);
    /// `F16` and `BF16`.
    const HALVES: Kinds = Kinds(8);
    pub(in crate::ops) const FLOATS: Kinds = Kinds::FULL_FLOATS.and(Kinds::HALVES);
    /// The integers, without `Bool`.
    pub(in crate::ops) const INTEGERS: Kinds = Kinds(2);
    pub(in crate::ops) const BOOL: Kinds = Kinds(4);
    pub(in crate::ops) const NUMBERS: Kinds = Kinds::FLOATS.and(Kinds::INTEGERS);
    /// The integers and `Bool`.
    pub(in crate::ops) const INTEGRAL: Kinds = Kinds::INTEGERS.and(Kinds::BOOL);
    pub(in crate::ops) const ALL: Kinds = Kinds::NUMBERS.and(Kinds::BOOL);

    const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Whether the dtype is of one of the kinds.
    pub(super) const fn contain(self, dtype: DType) -> bool {
        let kind = match dtype {
            DType::Bool => Kinds::BOOL,
            DType::F16 | DType::BF16 => Kinds::HALVES,
            _ if dtype.is_float() => Kinds::FULL_FLOATS,
            _ => Kinds::INTEGERS,
        };
        self.0 & kind.0 != 0
    }
}

/// The operands of an operation that a rule is about, by their positions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Positions(u8);

impl Positions {
    pub(super) const NONE: Positions = Positions(0);
    pub(super) const ALL: Positions = Positions(u8::MAX);

    /// The first `count` operands.
    pub(super) const fn first(count: usize) -> Positions {
        Positions((1 << count) - 1)
    }

    pub(super) const fn with(self, position: usize) -> Positions {
        Positions(self.0 | 1 << position)
    }

    pub(super) const fn without(self, position: usize) -> Positions {
        Positions(self.0 & !(1 << position))
    }

    pub(super) const fn contain(self, position: usize) -> bool {
        self.0 >> position & 1 != 0
    }
}
