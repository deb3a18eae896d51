//! Sums into elements and slices that indices choose.

use super::write::{INDEX_ADD, SCATTER_ADD};
use crate::ops::operand::expect_factor;
use crate::{Result, Scalar, Tensor};

/// Additions at indices.
impl Tensor {
    /// A copy of the tensor with `output[i][index[i][j]] += source[i][j]` for `dim` 1, and alike
    /// for others.
    ///
    /// # Errors
    /// As [`Tensor::gather`]; the dtypes of the two differ.
    #[track_caller]
    pub fn scatter_add(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        SCATTER_ADD.apply("scatter_add", self, dim, [index, source])
    }

    /// [`Tensor::scatter_add`] in place; gives the same handle.
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
    /// # Errors
    /// As [`Tensor::index_select`]; `source` has another shape than the slices, or another dtype.
    #[track_caller]
    pub fn index_add(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        INDEX_ADD.apply("index_add", self, dim, [index, source])
    }

    /// [`Tensor::index_add`] in place; gives the same handle.
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
