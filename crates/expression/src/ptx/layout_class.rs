//! Classes of layouts, for each of which there is a kernel of its own.

use std::fmt;

/// The way in which a kernel finds the elements of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LayoutClass {
    /// Every operand is dense, and all in the same linear order. Launched with
    /// [`DenseArguments`](super::DenseArguments).
    Dense,
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

impl fmt::Display for LayoutClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutClass::Dense => f.write_str("dense"),
            LayoutClass::Strided { dims, wide } => {
                write!(f, "strided{dims}{}", if *wide { "_wide" } else { "" })
            }
        }
    }
}
