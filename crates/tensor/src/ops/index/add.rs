//! Sums into elements and slices that indices choose.

use super::write::{INDEX_ADD, SCATTER_ADD};
use crate::ops::autocast;
use crate::ops::operand::expect_factor;
use crate::{Result, Scalar, Tensor};

/// Additions at indices.
impl Tensor {
    /// A copy of the tensor with `output[i][index[i][j]] += source[i][j]` for `dim` 1, and alike
    /// for others.
    ///
    /// ```
    /// use tensor::{DType, Tensor, tensor};
    /// let votes = Tensor::ones([4], DType::I64)?;
    /// let counts = Tensor::zeros([3], DType::I64)?.scatter_add(0, &tensor![0, 2, 2, 2]?, &votes)?;
    /// assert_eq!(counts.to_vec::<i64>()?, [1, 0, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::gather`]; the dtypes of the two differ.
    #[track_caller]
    pub fn scatter_add(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        const OP: &str = "scatter_add";
        let cast = autocast(OP, [self, source])?;
        let [x, source] = cast.operands();
        SCATTER_ADD.apply(OP, x, dim, [index, source])
    }

    /// [`Tensor::scatter_add`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::{DType, Tensor, tensor};
    /// let counts = Tensor::zeros([3], DType::I64)?;
    /// counts.scatter_add_(0, &tensor![0, 2, 2]?, &tensor![1, 1, 1]?)?;
    /// assert_eq!(counts.to_vec::<i64>()?, [1, 0, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::scatter_add`] and [`Tensor::add_`].
    #[track_caller]
    pub fn scatter_add_(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        SCATTER_ADD.apply_in_place("scatter_add_", self, dim, [index, source])
    }

    /// A copy of the tensor with the slices of `source` added to its slices of `dim` at the indices
    /// of a vector.
    ///
    /// ```
    /// use tensor::{DType, Tensor, tensor};
    /// let x = Tensor::zeros([3, 2], DType::I64)?;
    /// let sum = x.index_add(0, &tensor![0, 0]?, &tensor![[1, 2], [3, 4]]?)?;
    /// assert_eq!(sum.to_vec::<i64>()?, [4, 6, 0, 0, 0, 0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::index_select`]; `source` has another shape than the slices, or another dtype.
    #[track_caller]
    pub fn index_add(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        INDEX_ADD.apply("index_add", self, dim, [index, source])
    }

    /// [`Tensor::index_add`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::{DType, Tensor, tensor};
    /// let x = Tensor::zeros([3], DType::I64)?;
    /// x.index_add_(0, &tensor![0, 2]?, &tensor![1, 5]?)?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 0, 5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::index_add`] and [`Tensor::add_`].
    #[track_caller]
    pub fn index_add_(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        INDEX_ADD.apply_in_place("index_add_", self, dim, [index, source])
    }
}

/// Additions of a multiple.
impl Tensor {
    /// [`Tensor::index_add`] of `alpha * source` (PyTorch's `index_add` with `alpha`).
    ///
    /// ```
    /// use tensor::{DType, Tensor, tensor};
    /// let x = Tensor::zeros([3], DType::I64)?;
    /// let sum = x.index_add_scaled(0, &tensor![0, 2]?, &tensor![1, 5]?, -2)?;
    /// assert_eq!(sum.to_vec::<i64>()?, [-2, 0, -10]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::index_add`]; `alpha` is a float beside integers, or a truth value beside
    /// numbers.
    #[track_caller]
    pub fn index_add_scaled(
        &self,
        dim: isize,
        index: &Tensor,
        source: &Tensor,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        self.index_add(dim, index, &multiple("index_add", source, alpha.into())?)
    }

    /// [`Tensor::index_add_scaled`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::{DType, Tensor, tensor};
    /// let x = Tensor::ones([2], DType::I64)?;
    /// x.index_add_scaled_(0, &tensor![1]?, &tensor![5]?, 2)?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 11]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::index_add_scaled`] and [`Tensor::add_`].
    #[track_caller]
    pub fn index_add_scaled_(
        &self,
        dim: isize,
        index: &Tensor,
        source: &Tensor,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        self.index_add_(dim, index, &multiple("index_add_", source, alpha.into())?)
    }
}

/// `alpha * source`, which is recorded.
#[track_caller]
fn multiple(op: &'static str, source: &Tensor, alpha: Scalar) -> Result<Tensor> {
    expect_factor(op, alpha, source.dtype())?;
    source.mul(alpha)
}
