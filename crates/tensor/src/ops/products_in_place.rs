//! Products of matrices and vectors that are added to a tensor in place.

use crate::autocast::without_autocast;
use crate::{Result, Scalar, Tensor};

/// The products of BLAS in place. All fail as those that give a new tensor, and if the product has
/// another shape than the tensor, or the tensor cannot be written in place.
impl Tensor {
    /// [`Tensor::addmm`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let (a, b) = (tensor![[1.0, 2.0], [3.0, 4.0]]?, tensor![[0.0, 1.0], [1.0, 0.0]]?);
    /// let sum = Tensor::ones([2, 2], ())?;
    /// sum.addmm_(&a, &b, 0.5, 2.0)?;
    /// assert_eq!(sum.to_vec::<f32>()?, [4.5, 2.5, 8.5, 6.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn addmm_(
        &self,
        a: &Tensor,
        b: &Tensor,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let _as_is = without_autocast();
        self.overwritten_by("addmm_", &self.addmm(a, b, beta, alpha)?)
    }

    /// [`Tensor::addmv`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (a, b) = (tensor![[1.0, 2.0], [3.0, 4.0]]?, tensor![[0.0, 1.0], [1.0, 0.0]]?);
    /// let sum = tensor![1.0, 2.0]?;
    /// sum.addmv_(&a, &tensor![1.0, 1.0]?, 1.0, 2.0)?;
    /// assert_eq!(sum.to_vec::<f32>()?, [7.0, 16.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn addmv_(
        &self,
        matrix: &Tensor,
        vector: &Tensor,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let _as_is = without_autocast();
        self.overwritten_by("addmv_", &self.addmv(matrix, vector, beta, alpha)?)
    }

    /// [`Tensor::addr`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let sum = Tensor::ones([2, 2], ())?;
    /// sum.addr_(&tensor![1.0, 2.0]?, &tensor![3.0, 4.0]?, 1.0, 1.0)?;
    /// assert_eq!(sum.to_vec::<f32>()?, [4.0, 5.0, 7.0, 9.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn addr_(
        &self,
        a: &Tensor,
        b: &Tensor,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let _as_is = without_autocast();
        self.overwritten_by("addr_", &self.addr(a, b, beta, alpha)?)
    }

    /// [`Tensor::baddbmm`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let (a, b) = (Tensor::ones([5, 2, 3], ())?, Tensor::ones([5, 3, 4], ())?);
    /// let sum = Tensor::ones([5, 2, 4], ())?;
    /// sum.baddbmm_(&a, &b, 1.0, 2.0)?;
    /// assert_eq!(sum.i((0, 0, 0))?.item::<f32>()?, 7.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn baddbmm_(
        &self,
        a: &Tensor,
        b: &Tensor,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let _as_is = without_autocast();
        self.overwritten_by("baddbmm_", &self.baddbmm(a, b, beta, alpha)?)
    }

    /// [`Tensor::addbmm`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let (a, b) = (Tensor::ones([5, 2, 3], ())?, Tensor::ones([5, 3, 4], ())?);
    /// let sum = Tensor::ones([2, 4], ())?;
    /// sum.addbmm_(&a, &b, 1.0, 1.0)?;
    /// assert_eq!(sum.i((0, 0))?.item::<f32>()?, 16.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn addbmm_(
        &self,
        a: &Tensor,
        b: &Tensor,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let _as_is = without_autocast();
        self.overwritten_by("addbmm_", &self.addbmm(a, b, beta, alpha)?)
    }
}
