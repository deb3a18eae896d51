//! The reasons for which no layout can be made of sizes and strides.

use crate::{DType, Error, Shape};

/// The reason why no layout can be made of sizes, strides and an offset. With the dtype of the
/// tensor it becomes an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoLayout {
    /// Numbers of elements, or distances between them, overflow.
    TooLarge(Shape),
    /// There are more dimensions than a tensor can have.
    TooManyDims { dims: usize, most: usize },
    /// Some of the elements would lie before the storage.
    Outside(Shape),
}

impl NoLayout {
    /// The error, for a tensor of this dtype.
    pub(crate) fn of(self, dtype: DType) -> Error {
        match self {
            NoLayout::TooLarge(shape) => Error::TooLarge { shape, dtype },
            NoLayout::TooManyDims { dims, most } => Error::TooManyDims { dims, most },
            NoLayout::Outside(shape) => Error::OutsideStorage { shape },
        }
    }
}
