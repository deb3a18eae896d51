//! The reasons for which no layout can be made of sizes and strides.

use super::Layout;
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

/// Errors are made out of line: where they were made in place, a layout would be taken apart for them
/// on its way into each tensor, and not be copied as a whole.
impl Layout {
    /// The error that elements of this layout lie outside of a storage.
    #[cold]
    pub(crate) fn outside_storage(&self) -> Error {
        Error::OutsideStorage { shape: self.shape.clone() }
    }

    /// The error that the elements have more bytes than memory can have.
    #[cold]
    pub(crate) fn too_large(&self, dtype: DType) -> Error {
        Error::TooLarge { shape: self.shape.clone(), dtype }
    }
}
