//! Products of matrices and vectors that are added to a tensor in place.

use crate::{Result, Scalar, Tensor};

/// The products of BLAS in place. All fail as those that give a new tensor, and if the product has
/// another shape than the tensor, or the tensor cannot be written in place.
impl Tensor {
    /// [`Tensor::addmm`] in place; gives the same handle.
    #[track_caller]
    pub fn addmm_(
        &self,
        a: &Tensor,
        b: &Tensor,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        self.overwritten_by("addmm_", &self.addmm(a, b, beta, alpha)?)
    }

    /// [`Tensor::addmv`] in place; gives the same handle.
    #[track_caller]
    pub fn addmv_(
        &self,
        matrix: &Tensor,
        vector: &Tensor,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        self.overwritten_by("addmv_", &self.addmv(matrix, vector, beta, alpha)?)
    }

    /// [`Tensor::addr`] in place; gives the same handle.
    #[track_caller]
    pub fn addr_(
        &self,
        a: &Tensor,
        b: &Tensor,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        self.overwritten_by("addr_", &self.addr(a, b, beta, alpha)?)
    }

    /// [`Tensor::baddbmm`] in place; gives the same handle.
    #[track_caller]
    pub fn baddbmm_(
        &self,
        a: &Tensor,
        b: &Tensor,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        self.overwritten_by("baddbmm_", &self.baddbmm(a, b, beta, alpha)?)
    }
}
