//! Singular value decomposition.

use super::sizes;
use super::{batch, expect_matrices, give, give_vectors, in_dtype, not_converged, read};
use crate::autograd::record_outputs;
use crate::host::linalg::{self, Converged, MatrixElement};
use crate::{Result, Tensor};

/// With the feature `linalg`, of tensors on the CPU.
impl Tensor {
    /// The matrices U, whose columns are orthonormal, the singular values in descending order, and the
    /// transposes of V, whose columns are, so that these matrices are `U diag(S) Vᵀ`. There are as
    /// many columns as singular values, or if `full_matrices`, as many as rows. The gradient of U and V
    /// is infinite or NaN where singular values are equal, and means something only if what is
    /// computed of them does not depend on their signs.
    ///
    /// ```
    /// use tensor::tensor;
    /// let a = tensor![[3.0, 0.0], [0.0, -4.0], [0.0, 0.0]]?;
    /// let (u, s, vh) = a.svd(false)?;
    /// assert!(s.allclose(&tensor![4.0, 3.0]?, 1e-5, 1e-5)?);
    /// assert!(u.mul(&s)?.matmul(&vh)?.allclose(&a, 1e-5, 1e-5)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer than two dimensions; the iteration does not converge, as with NaN; the dtype is
    /// neither `F32` nor `F64`; the tensor is not on the CPU.
    #[track_caller]
    pub fn svd(&self, full_matrices: bool) -> Result<(Tensor, Tensor, Tensor)> {
        const OP: &str = "svd";
        expect_matrices(OP, self)?;
        let (rows, columns) = sizes(self);
        let size = rows.min(columns);
        let found = in_dtype!(self, decomposed(self, full_matrices))?;
        let outputs = found.map_err(|failed| not_converged(OP, failed.0, batch(self)))?;
        let outputs = record_outputs(OP, &[self], outputs, |saving| {
            let [u, s, vh] = [0, 1, 2].map(|output| saving.save_output_at(output));
            move |grads: &[Option<Tensor>], _: &[bool]| {
                let factors = SingularValues {
                    u: u.get()?.narrow(-1, 0, size)?,
                    s: s.get()?,
                    vh: vh.get()?.narrow(-2, 0, size)?,
                };
                let narrowed = |grad: &Option<Tensor>, dim| {
                    grad.as_ref().map(|grad| grad.narrow(dim, 0, size)).transpose()
                };
                let (of_u, of_vh) = (narrowed(&grads[0], -1)?, narrowed(&grads[2], -2)?);
                let grad = factors.backward(of_u, grads[1].as_ref(), of_vh)?;
                Ok([Some(grad)].into_iter().collect())
            }
        });
        let [u, s, vh] = outputs.try_into().expect("there are three factors");
        Ok((u, s, vh))
    }

    /// The singular values of [`Tensor::svd`].
    ///
    /// ```
    /// use tensor::tensor;
    /// let s = tensor![[3.0, 0.0], [0.0, -4.0]]?.svdvals()?;
    /// assert!(s.allclose(&tensor![4.0, 3.0]?, 1e-5, 1e-5)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::svd`].
    #[track_caller]
    pub fn svdvals(&self) -> Result<Tensor> {
        const OP: &str = "svdvals";
        // Their gradient is made of the vectors.
        if crate::is_grad_enabled() && self.requires_grad() {
            return Ok(self.svd(false)?.1);
        }
        expect_matrices(OP, self)?;
        let found = in_dtype!(self, values(self))?;
        found.map_err(|failed| not_converged(OP, failed.0, batch(self)))
    }
}

/// The factors with as many columns as singular values.
struct SingularValues {
    u: Tensor,
    s: Tensor,
    vh: Tensor,
}

impl SingularValues {
    /// J. Townsend, "Differentiating the Singular Value Decomposition" (2016).
    #[track_caller]
    fn backward(
        &self,
        of_u: Option<Tensor>,
        of_s: Option<&Tensor>,
        of_vh: Option<Tensor>,
    ) -> Result<Tensor> {
        let SingularValues { u, s, vh } = self;
        let of_s = of_s.cloned().map_or_else(|| s.zeros_like(), Ok)?;
        if of_u.is_none() && of_vh.is_none() {
            return u.mul(&of_s.unsqueeze(-2)?)?.matmul(vh);
        }
        let mut inner = of_s.diag_embed(0, -2, -1)?;
        let (row, column) = (s.unsqueeze(-2)?, s.unsqueeze(-1)?);
        if let Some(of_u) = &of_u {
            inner = inner.add(&self.turned(&u.mt()?.matmul(of_u)?)?.mul(&row)?)?;
        }
        if let Some(of_vh) = &of_vh {
            let product = vh.matmul(&of_vh.mt()?)?;
            inner = inner.add(&self.turned(&product)?.mul(&column)?)?;
        }
        let mut grad = u.matmul(&inner)?.matmul(vh)?;
        // The parts that lie outside of the spaces that the columns span.
        if let Some(of_u) = of_u.filter(|of_u| sizes(of_u).0 > sizes(of_u).1) {
            let outside = of_u.sub(&u.matmul(&u.mt()?.matmul(&of_u)?)?)?;
            grad = grad.add(&outside.div(&row)?.matmul(vh)?)?;
        }
        if let Some(of_vh) = of_vh.filter(|of_vh| sizes(of_vh).1 > sizes(of_vh).0) {
            let outside = of_vh.sub(&of_vh.matmul(&vh.mt()?)?.matmul(vh)?)?;
            grad = grad.add(&u.matmul(&outside.div(&column)?)?)?;
        }
        Ok(grad)
    }

    /// The antisymmetric part of a product, over the differences of the squares.
    #[track_caller]
    fn turned(&self, product: &Tensor) -> Result<Tensor> {
        let squares = self.s.square()?;
        let n = self.s.shape()[self.s.dims() - 1];
        let eye = Tensor::eye(n, (self.s.dtype(), self.s.device()))?;
        let differences = squares.unsqueeze(-2)?.sub(&squares.unsqueeze(-1)?)?.add(&eye)?;
        product.sub(&product.mt()?)?.div(&differences)
    }
}

#[track_caller]
fn decomposed<T: MatrixElement>(x: &Tensor, full: bool) -> Result<Converged<Vec<Tensor>>> {
    match linalg::svd(&read::<T>(x)?, full)? {
        Ok(found) => {
            let (u, vh) = (give(found.u, batch(x))?, give(found.vh, batch(x))?);
            Ok(Ok(vec![u, give_vectors(found.s, batch(x))?, vh]))
        }
        Err(failed) => Ok(Err(failed)),
    }
}

#[track_caller]
fn values<T: MatrixElement>(x: &Tensor) -> Result<Converged<Tensor>> {
    match linalg::singular_values(&read::<T>(x)?)? {
        Ok(values) => Ok(Ok(give_vectors(values, batch(x))?)),
        Err(failed) => Ok(Err(failed)),
    }
}
