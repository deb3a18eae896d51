//! Dimensions as a program gives them: negative ones count from the end.

mod reduce_dims;
mod resolve;

use std::ops::Deref;

use smallvec::{SmallVec, smallvec};

use crate::integer::Integer;

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

impl Dims {
    fn of(dims: impl IntoIterator<Item = impl Integer>) -> Dims {
        Dims(dims.into_iter().map(dim).collect())
    }
}

/// The number of a dimension as `isize`. One that does not fit becomes the largest or the smallest,
/// and no tensor has such a dimension.
fn dim(integer: impl Integer) -> isize {
    let wide = integer.widened();
    isize::try_from(wide).unwrap_or(if wide < 0 { isize::MIN } else { isize::MAX })
}

impl<I: Integer> From<I> for Dims {
    fn from(dim: I) -> Dims {
        Dims::of([dim])
    }
}

impl<I: Integer> From<&[I]> for Dims {
    fn from(dims: &[I]) -> Dims {
        Dims::of(dims.iter().copied())
    }
}

impl<I: Integer, const N: usize> From<[I; N]> for Dims {
    fn from(dims: [I; N]) -> Dims {
        dims.as_slice().into()
    }
}

impl<I: Integer, const N: usize> From<&[I; N]> for Dims {
    fn from(dims: &[I; N]) -> Dims {
        dims.as_slice().into()
    }
}

impl<I: Integer> From<Vec<I>> for Dims {
    fn from(dims: Vec<I>) -> Dims {
        dims.as_slice().into()
    }
}

impl<I: Integer> From<&Vec<I>> for Dims {
    fn from(dims: &Vec<I>) -> Dims {
        dims.as_slice().into()
    }
}

impl From<()> for Dims {
    fn from((): ()) -> Dims {
        Dims(SmallVec::new())
    }
}

macro_rules! dims_from_tuples {
    ($(($($name:ident: $letter:ident),+);)*) => {$(
        impl<$($letter: Integer),+> From<($($letter,)+)> for Dims {
            fn from(($($name,)+): ($($letter,)+)) -> Dims {
                Dims(smallvec![$(dim($name)),+])
            }
        }
    )*};
}

dims_from_tuples! {
    (a: A, b: B);
    (a: A, b: B, c: C);
    (a: A, b: B, c: C, d: D);
    (a: A, b: B, c: C, d: D, e: E);
    (a: A, b: B, c: C, d: D, e: E, f: F);
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
