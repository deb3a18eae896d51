//! QR decomposition.

use super::{batch, expect_matrices, give, in_dtype, read, sizes};
use crate::autograd::record_outputs;
use crate::host::linalg::{self, MatrixElement};
use crate::{Error, Result, Tensor};

const OP: &str = "qr";

/// The columns of Q that [`Tensor::qr`] gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QrMode {
    /// The first ones, as many as the smaller dimension has.
    #[default]
    Reduced,
    /// All of them, as many as there are rows.
    Complete,
}

/// With the feature `linalg`, of tensors on the CPU.
impl Tensor {
    /// The matrices Q, whose columns are orthonormal, and R, which are upper triangular, of which these
    /// are the products. The signs of the diagonal of R are open.
    ///
    /// ```
    /// use tensor::{QrMode, tensor};
    /// let a = tensor![[3.0, 1.0], [4.0, 2.0]]?;
    /// let (q, r) = a.qr(QrMode::Reduced)?;
    /// assert!(q.matmul(&r)?.allclose(&a, 1e-5, 1e-5)?);
    /// assert_eq!(r.tril(-1)?.count_nonzero(())?.item::<i64>()?, 0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// Gradients flow through both factors, but for those of a complete Q with more columns than the
    /// matrix has.
    ///
    /// # Errors
    /// There are fewer than two dimensions; the dtype is neither `F32` nor `F64`; the tensor is not on
    /// the CPU.
    #[track_caller]
    pub fn qr(&self, mode: QrMode) -> Result<(Tensor, Tensor)> {
        expect_matrices(OP, self)?;
        let (rows, columns) = sizes(self);
        let (q, r) = in_dtype!(self, factors(self, mode))?;
        let outputs = record_outputs(OP, &[self], vec![q, r], |saving| {
            let x = saving.save(self);
            let (q, r) = (saving.save_output_at(0), saving.save_output_at(1));
            move |grads: &[Option<Tensor>], _: &[bool]| {
                if mode == QrMode::Complete && rows > columns {
                    let value = "QrMode::Complete of more rows than columns".to_owned();
                    let why = "only the reduced factors have gradients";
                    return Err(Error::InvalidArgument { op: OP, argument: "mode", value, why });
                }
                let (q, r) = (q.get()?, r.get()?);
                let of_q = grads[0].clone().map_or_else(|| q.zeros_like(), Ok)?;
                let of_r = grads[1].clone().map_or_else(|| r.zeros_like(), Ok)?;
                let size = rows.min(columns);
                if columns == size {
                    return Ok([Some(backward(&q, &r, &of_q, &of_r)?)].into_iter().collect());
                }
                // The last columns are Q times the last ones of R.
                let wide = columns - size;
                let rest = x.get()?.narrow(-1, size, wide)?;
                let of_rest = of_r.narrow(-1, size, wide)?;
                let of_q = of_q.add(&rest.matmul(&of_rest.mt()?)?)?;
                let first = r.narrow(-1, 0, size)?;
                let of_first = backward(&q, &first, &of_q, &of_r.narrow(-1, 0, size)?)?;
                let both = Tensor::cat([&of_first, &q.matmul(&of_rest)?], -1)?;
                Ok([Some(both)].into_iter().collect())
            }
        });
        let [q, r] = outputs.try_into().expect("there are two factors");
        Ok((q, r))
    }
}

/// The gradient of a matrix with as many rows as columns, or more.
///
/// S. F. Walter and L. Lehmann, "Algorithmic Differentiation of Linear Algebra Functions with
/// Application in Optimum Experimental Design" (2010).
#[track_caller]
fn backward(q: &Tensor, r: &Tensor, of_q: &Tensor, of_r: &Tensor) -> Result<Tensor> {
    let difference = of_r.matmul(&r.mt()?)?.sub(&q.mt()?.matmul(of_q)?)?;
    // The upper triangle, mirrored.
    let upper = difference.triu(0)?;
    let mirrored = upper.add(&difference.triu(1)?.mt()?)?;
    let inner = of_q.add(&q.matmul(&mirrored)?)?;
    r.mt()?.solve_triangular(&inner, false, false, false)
}

#[track_caller]
fn factors<T: MatrixElement>(x: &Tensor, mode: QrMode) -> Result<(Tensor, Tensor)> {
    let (q, r) = linalg::qr(&read::<T>(x)?, mode == QrMode::Complete)?;
    Ok((give(q, batch(x))?, give(r, batch(x))?))
}
