//! Copies into elements and slices that indices choose.

use std::borrow::Cow;

use super::write::{INDEX_COPY, SCATTER};
use crate::ops::autocast;
use crate::ops::operand::{TensorOrScalar, expect_fits};
use crate::{Result, Tensor};

/// Copies to indices. Where several go to one element, the last one in the order of the indices stays
/// on the CPU; on CUDA, as in PyTorch, one of them does.
impl Tensor {
    /// A copy of the tensor with `output[i][index[i][j]] = source[i][j]` for `dim` 1, and alike for
    /// others. The source is a number, or a tensor that is at least as large as the index.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let classes = tensor![[2], [0]]?;
    /// let one_hot = Tensor::zeros([2, 3], ())?.scatter(1, &classes, 1.0)?;
    /// assert_eq!(one_hot.to_vec::<f32>()?, [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::gather`]; the dtypes of the two differ, or the dtype has no such number.
    #[track_caller]
    pub fn scatter<'a>(
        &self,
        dim: isize,
        index: &Tensor,
        source: impl Into<TensorOrScalar<'a>>,
    ) -> Result<Tensor> {
        const OP: &str = "scatter";
        let source = source_for(OP, self, index, source.into())?;
        SCATTER.apply(OP, self, dim, [index, &source])
    }

    /// [`Tensor::scatter`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let one_hot = Tensor::zeros([2, 3], ())?;
    /// one_hot.scatter_(1, &tensor![[2], [0]]?, 1.0)?;
    /// assert_eq!(one_hot.to_vec::<f32>()?, [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::scatter`] and [`Tensor::copy_`].
    #[track_caller]
    pub fn scatter_<'a>(
        &self,
        dim: isize,
        index: &Tensor,
        source: impl Into<TensorOrScalar<'a>>,
    ) -> Result<Tensor> {
        const OP: &str = "scatter_";
        let source = source_for(OP, self, index, source.into())?;
        SCATTER.apply_in_place(OP, self, dim, [index, &source])
    }

    /// A copy of the tensor with the slices of `source` in place of its slices of `dim` at the
    /// indices of a vector.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let rows = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    /// let x = Tensor::zeros([3, 2], ())?.index_copy(0, &tensor![2, 0]?, &rows)?;
    /// assert_eq!(x.to_vec::<f32>()?, [3.0, 4.0, 0.0, 0.0, 1.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::index_select`]; `source` has another shape than the slices, or another dtype.
    #[track_caller]
    pub fn index_copy(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        const OP: &str = "index_copy";
        let cast = autocast(OP, [self, source])?;
        let [x, source] = cast.operands();
        INDEX_COPY.apply(OP, x, dim, [index, source])
    }

    /// [`Tensor::index_copy`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::{DType, Tensor, tensor};
    /// let x = Tensor::zeros([3], DType::I64)?;
    /// x.index_copy_(0, &tensor![2, 0]?, &tensor![7, 8]?)?;
    /// assert_eq!(x.to_vec::<i64>()?, [8, 0, 7]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::index_copy`] and [`Tensor::copy_`].
    #[track_caller]
    pub fn index_copy_(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        INDEX_COPY.apply_in_place("index_copy_", self, dim, [index, source])
    }
}

/// The source of a scatter: the tensor, or the number for each index.
#[track_caller]
fn source_for<'a>(
    op: &'static str,
    x: &Tensor,
    index: &Tensor,
    source: TensorOrScalar<'a>,
) -> Result<Cow<'a, Tensor>> {
    match source {
        TensorOrScalar::Tensor(source) => Ok(Cow::Borrowed(source)),
        TensorOrScalar::Scalar(number) => {
            expect_fits(op, "source", number, x.dtype())?;
            let shape = index.layout().shape();
            Tensor::full(shape, number, (x.dtype(), x.device())).map(Cow::Owned)
        }
    }
}
