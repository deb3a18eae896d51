//! The dimensions that a reduction is over.

use super::Dims;
use crate::{Error, Result};

/// The dimensions that a reduction is over, which it removes, or keeps with size 1. It is made from
/// what [`Dims`] are made of, where the empty list means all dimensions, and by [`keepdim`].
///
/// ```
/// use tensor::{Tensor, keepdim};
/// let x = Tensor::ones([2, 3, 4], ())?;
/// assert_eq!(x.sum(())?.item::<f32>()?, 24.0);
/// assert_eq!(x.sum(-1)?.shape(), [2, 3]);
/// assert_eq!(x.sum((0, 2))?.shape(), [3]);
/// assert_eq!(x.sum(keepdim((0, 2)))?.shape(), [1, 3, 1]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReduceDims {
    pub(crate) dims: Dims,
    pub(crate) keepdim: bool,
}

impl ReduceDims {
    /// The same dimensions, which are kept with size 1 if `keepdim` says so. Where that is known
    /// beforehand, [`keepdim`](keepdim()) reads better.
    pub fn keepdim(self, keepdim: bool) -> ReduceDims {
        ReduceDims { keepdim, ..self }
    }

    /// The one dimension, or `None` for all of them.
    ///
    /// # Errors
    /// There are several.
    pub(crate) fn at_most_one(&self, op: &'static str) -> Result<Option<isize>> {
        match *self.dims {
            [] => Ok(None),
            [dim] => Ok(Some(dim)),
            _ => Err(self.not_one(op)),
        }
    }

    /// The error of an operation that is along one dimension.
    pub(crate) fn not_one(&self, op: &'static str) -> Error {
        let value = format!("{:?}", &*self.dims);
        Error::InvalidArgument { op, argument: "dim", value, why: "it must be one dimension" }
    }
}

impl<D: Into<Dims>> From<D> for ReduceDims {
    fn from(dims: D) -> ReduceDims {
        ReduceDims { dims: dims.into(), keepdim: false }
    }
}

/// The dimensions of a reduction, which stay in the result with size 1 (`keepdim=True`), so that the
/// result broadcasts to the operand's shape.
///
/// ```
/// use tensor::{keepdim, tensor};
/// let x = tensor![[1.0, 3.0], [2.0, 6.0]]?;
/// let shares = (&x / x.sum(keepdim(-1)))?;
/// assert_eq!(shares.to_vec::<f32>()?, [0.25, 0.75, 0.25, 0.75]);
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn keepdim(dims: impl Into<Dims>) -> ReduceDims {
    ReduceDims::from(dims).keepdim(true)
}
