//! Dimensions as a program gives them: negative ones count from the end.

mod reduce_dims;
mod resolve;

use std::ops::Deref;

use smallvec::SmallVec;

use crate::integer::{Integer, clamped, from_integer_lists, from_integer_tuples};

pub use reduce_dims::{ReduceDims, keepdim};
pub(crate) use resolve::{around, different_dims, resolve_dim, resolve_dims};

/// A list of dimensions. It is made from an integer of any type, a tuple, an array, a slice or a
/// vector of them, or from `()`, which is the empty list. Negative ones count from the end.
///
/// ```
/// use tensor::{Dims, Tensor};
/// let x = Tensor::zeros([2, 3, 4], ())?;
/// assert_eq!(x.permute((2, 0, 1))?.shape(), [4, 2, 3]);
/// assert_eq!(x.flip(-1)?.shape(), [2, 3, 4]);
/// let (first, rest) = (1usize, 2i64);
/// assert_eq!(&*Dims::from((first, rest)), [1, 2]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dims(SmallVec<[isize; 4]>);

impl Deref for Dims {
    type Target = [isize];

    fn deref(&self) -> &[isize] {
        &self.0
    }
}

impl<I: Integer> From<I> for Dims {
    fn from(dim: I) -> Dims {
        [dim].into()
    }
}

impl<I: Integer> From<&[I]> for Dims {
    fn from(dims: &[I]) -> Dims {
        Dims(dims.iter().copied().map(clamped).collect())
    }
}

from_integer_lists!(Dims);
from_integer_tuples!(Dims);

impl From<()> for Dims {
    fn from((): ()) -> Dims {
        Dims(SmallVec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_type_are_dimensions_and_those_that_do_not_fit_are_out_of_range() {
        assert_eq!(&*Dims::from(-1), [-1]);
        assert_eq!(&*Dims::from((0usize, -2i64, 3)), [0, -2, 3]);
        assert_eq!(&*Dims::from(&vec![1, 2]), [1, 2]);
        assert_eq!(&*Dims::from(usize::MAX), [isize::MAX]);
        assert_eq!(&*Dims::from(i64::MIN), [isize::MIN]);
        assert!(Dims::from(()).is_empty());
    }
}
