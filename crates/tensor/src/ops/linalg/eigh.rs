//! Eigenvalues and eigenvectors of symmetric matrices.

use super::{batch, expect_square, give, give_vectors, in_dtype, not_converged, read};
use crate::autograd::record_outputs;
use crate::host::linalg::{self, Converged, MatrixElement};
use crate::{Result, Tensor};

/// With the feature `linalg`, of tensors on the CPU.
impl Tensor {
    /// The eigenvalues of symmetric matrices in ascending order, and their eigenvectors as columns. Only
    /// the lower triangles are read, or if `upper`, the upper ones. The gradient of eigenvectors is
    /// infinite or NaN where eigenvalues are equal, and means something only if what is computed of
    /// the vectors does not depend on their signs.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (values, vectors) = tensor![[2.0, 0.0], [0.0, 1.0]]?.eigh(false)?;
    /// assert_eq!(values.to_vec::<f32>()?, [1.0, 2.0]);
    /// assert_eq!(vectors.abs()?.to_vec::<f32>()?, [0.0, 1.0, 1.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The matrices are not square; the iteration does not converge, as with NaN; the dtype is neither
    /// `F32` nor `F64`; the tensor is not on the CPU.
    #[track_caller]
    pub fn eigh(&self, upper: bool) -> Result<(Tensor, Tensor)> {
        const OP: &str = "eigh";
        expect_square(OP, self)?;
        let read_lower = if upper { self.mt()? } else { self.clone() };
        let found = in_dtype!(self, decomposed(&read_lower))?;
        let outputs = found.map_err(|failed| not_converged(OP, failed.0, batch(self)))?;
        let outputs = record_outputs(OP, &[&read_lower], outputs, |saving| {
            let (values, vectors) = (saving.save_output_at(0), saving.save_output_at(1));
            move |grads: &[Option<Tensor>], _: &[bool]| {
                let (values, vectors) = (values.get()?, vectors.get()?);
                let grads = [grads[0].as_ref(), grads[1].as_ref()];
                Ok([Some(backward(&values, &vectors, grads)?)].into_iter().collect())
            }
        });
        let [values, vectors] = outputs.try_into().expect("there are two outputs");
        Ok((values, vectors))
    }

    /// The eigenvalues of [`Tensor::eigh`].
    ///
    /// ```
    /// use tensor::tensor;
    /// let values = tensor![[2.0, 0.0], [0.0, 1.0]]?.eigvalsh(false)?;
    /// assert_eq!(values.to_vec::<f32>()?, [1.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::eigh`].
    #[track_caller]
    pub fn eigvalsh(&self, upper: bool) -> Result<Tensor> {
        const OP: &str = "eigvalsh";
        // Their gradient is made of the vectors.
        if crate::is_grad_enabled() && self.requires_grad() {
            return Ok(self.eigh(upper)?.0);
        }
        expect_square(OP, self)?;
        let read_lower = if upper { self.mt()? } else { self.clone() };
        let found = in_dtype!(self, values(&read_lower))?;
        found.map_err(|failed| not_converged(OP, failed.0, batch(self)))
    }
}

/// M. B. Giles, "An extended collection of matrix derivative results for forward and reverse mode
/// algorithmic differentiation" (2008), 3.1.
#[track_caller]
fn backward(
    values: &Tensor,
    vectors: &Tensor,
    [of_values, of_vectors]: [Option<&Tensor>; 2],
) -> Result<Tensor> {
    let turned = vectors.mt()?;
    let Some(of_vectors) = of_vectors else {
        let of_values = of_values.cloned().map_or_else(|| values.zeros_like(), Ok)?;
        return vectors.mul(&of_values.unsqueeze(-2)?)?.matmul(&turned);
    };
    let differences = values.unsqueeze(-2)?.sub(&values.unsqueeze(-1)?)?;
    let n = values.shape()[values.dims() - 1];
    let eye = Tensor::eye(n, (values.dtype(), values.device()))?;
    let is_diagonal = eye.ne(0)?;
    let inner = turned.matmul(of_vectors)?.div(&differences.add(&eye)?)?;
    let mut inner = inner.masked_fill(&is_diagonal, 0)?;
    if let Some(of_values) = of_values {
        inner = inner.add(&of_values.diag_embed(0, -2, -1)?)?;
    }
    vectors.matmul(&inner)?.matmul(&turned)
}

#[track_caller]
fn decomposed<T: MatrixElement>(x: &Tensor) -> Result<Converged<Vec<Tensor>>> {
    match linalg::self_adjoint_eigen(&read::<T>(x)?)? {
        Ok((values, vectors)) => {
            Ok(Ok(vec![give_vectors(values, batch(x))?, give(vectors, batch(x))?]))
        }
        Err(failed) => Ok(Err(failed)),
    }
}

#[track_caller]
fn values<T: MatrixElement>(x: &Tensor) -> Result<Converged<Tensor>> {
    match linalg::eigenvalues(&read::<T>(x)?)? {
        Ok(values) => Ok(Ok(give_vectors(values, batch(x))?)),
        Err(failed) => Ok(Err(failed)),
    }
}
