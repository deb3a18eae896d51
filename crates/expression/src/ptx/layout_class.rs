//! Classes of layouts, for each of which there is a kernel of its own.

use std::fmt;

/// The way in which a kernel finds the elements of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LayoutClass {
    /// Every operand is dense, and all in the same linear order. Launched with
    /// [`DenseArguments`](super::DenseArguments).
    Dense,
    /// Rows, along which each operand is dense or the same element. Launched with
    /// [`Broadcast2dArguments`](super::Broadcast2dArguments).
    Broadcast2d {
        /// The operands that are the same element in all columns of a row.
        repeated: RepeatedOperands,
    },
    /// Any strides. Launched with [`StridedArguments`](super::StridedArguments).
    Strided {
        /// The number of dimensions, from 1 to [`MAX_DIMS`](super::MAX_DIMS).
        dims: usize,
        /// Whether indices are computed in 64 bits. With 32, which is faster, the number of
        /// elements and each operand's distance between any two elements, in elements, are below
        /// 2³¹ ([`StridedArguments::fits_32_bits`](super::StridedArguments::fits_32_bits)).
        wide: bool,
    },
}

/// Operands that are the same in all columns of a row, by their numbers: outputs first, then inputs.
/// Outputs are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RepeatedOperands(u32);

impl RepeatedOperands {
    /// With one more operand.
    #[must_use]
    pub const fn with(self, operand: usize) -> RepeatedOperands {
        RepeatedOperands(self.0 | 1 << operand)
    }

    /// A bit for each operand, that of operand 0 the lowest.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether an operand is among them.
    pub const fn contains(self, operand: usize) -> bool {
        self.0 & 1 << operand != 0
    }
}

impl fmt::Display for LayoutClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutClass::Dense => f.write_str("dense"),
            LayoutClass::Broadcast2d { repeated } => write!(f, "rows{:x}", repeated.0),
            LayoutClass::Strided { dims, wide } => {
                write!(f, "strided{dims}{}", if *wide { "_wide" } else { "" })
            }
        }
    }
}
