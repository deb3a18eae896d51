//! Least squares.

use super::pinv::RankTolerance;
use super::{expect_matrices, sizes, with_common_batch};
use crate::autograd::recomputed;
use crate::dispatch::same_dtype;
use crate::ops::operand::TensorOrScalar;
use crate::{Error, Result, Tensor};

/// The results of [`Tensor::lstsq`].
#[derive(Clone, Debug)]
pub struct LeastSquares {
    /// The solutions.
    pub solution: Tensor,
    /// The sums of the squares of what is left in each column, of matrices with more rows than columns
    /// that all have full rank; else empty.
    pub residuals: Tensor,
    /// The rank of each matrix, as `I64`.
    pub rank: Tensor,
    /// The singular values of each matrix.
    pub singular_values: Tensor,
}

/// With the feature `linalg`, of tensors on the CPU.
impl Tensor {
    /// The matrices X for which `A X - B` has the least squares, where A is this tensor; of several the
    /// one that is least itself. `rcond` is the [`RankTolerance::rtol`]. B is of vectors if it has a
    /// dimension less. The way is LAPACK's `gelsd`, by singular values. Gradients flow to both.
    ///
    /// ```
    /// use tensor::tensor;
    /// let a = tensor![[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]?;
    /// let line = a.lstsq(&tensor![[1.0], [3.0], [5.0]]?, None)?.solution;
    /// assert!(line.allclose(&tensor![[1.0], [2.0]]?, 1e-4, 1e-4)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The sizes do not fit together; an iteration does not converge, as with NaN; the dtypes differ,
    /// or are neither `F32` nor `F64`; a tensor is not on the CPU.
    #[track_caller]
    pub fn lstsq(&self, b: &Tensor, rcond: Option<f64>) -> Result<LeastSquares> {
        const OP: &str = "lstsq";
        expect_matrices(OP, self)?;
        same_dtype(OP, &[("self", self), ("b", b)])?;
        let is_vector = b.dims() + 1 == self.dims();
        let right = if is_vector { b.unsqueeze(-1)? } else { b.clone() };
        expect_matrices(OP, &right)?;
        let (rows, columns) = sizes(self);
        if sizes(&right).0 != rows {
            let shapes = [("self", self), ("b", b)];
            let shapes = shapes.map(|(name, x)| (name, x.layout().shape().clone())).to_vec();
            return Err(Error::ShapeMismatch { op: OP, shapes, rule: "the rows must be as many" });
        }
        let (a, right) = with_common_batch(OP, [("self", self), ("b", &right)])?;
        let rtol = rcond.map(TensorOrScalar::from);
        let tolerance = RankTolerance { atol: None, rtol };
        // PyTorch's gradient, too, is computed from the pseudoinverse anew.
        let solution = recomputed(&[&a, &right], move |operands: &[Tensor]| {
            operands[0].pinv(tolerance, false)?.matmul(&operands[1])
        })?;
        let detached = a.detach();
        let rank = detached.matrix_rank(tolerance, false)?;
        let singular_values = detached.svdvals()?;
        let is_full = || rank.eq(columns)?.all(())?.item::<bool>();
        let residuals = if rows > columns && is_full()? {
            recomputed(&[&a, &solution, &right], |operands: &[Tensor]| {
                operands[0].matmul(&operands[1])?.sub(&operands[2])?.square()?.sum(-2)
            })?
        } else {
            solution.flatten()?.narrow(0, 0, 0)?
        };
        let solution = if is_vector { solution.squeeze(-1)? } else { solution };
        Ok(LeastSquares { solution, residuals, rank, singular_values })
    }
}
