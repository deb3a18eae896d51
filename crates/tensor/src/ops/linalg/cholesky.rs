//! Cholesky's decomposition, and what is solved by it.

use super::{batch, expect_done, expect_square, give, give_numbers, in_dtype, read};
use super::{expect_matrices, with_common_batch};
use crate::autograd::record;
use crate::dispatch::same_dtype;
use crate::host::linalg::{self, MatrixElement};
use crate::{Result, Tensor};

/// With the feature `linalg`, of tensors on the CPU.
impl Tensor {
    /// The lower triangular matrices L with positive diagonals of which the symmetric positive definite
    /// ones here are `L Lᵀ`, or if `upper`, U of which they are `Uᵀ U`. Only that triangle is read.
    ///
    /// ```
    /// use tensor::tensor;
    /// let a = tensor![[4.0, 2.0], [2.0, 2.0]]?;
    /// assert_eq!(a.cholesky(false)?.to_vec::<f32>()?, [2.0, 0.0, 1.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The matrices are not square, or one is not positive definite; the dtype is neither `F32` nor
    /// `F64`; the tensor is not on the CPU.
    #[track_caller]
    pub fn cholesky(&self, upper: bool) -> Result<Tensor> {
        const OP: &str = "cholesky";
        let (factor, info) = cholesky(OP, self, upper)?;
        let problem = |minor| format!("whose leading minor of order {minor} is not positive");
        expect_done(OP, &info, problem, "it must be positive definite; cholesky_ex only says so")?;
        Ok(factor)
    }

    /// [`Tensor::cholesky`], and for each matrix, as `I32`, 0 or the order of its first leading minor
    /// that is not positive. The factor is not one then.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (_, info) = tensor![[1.0, 2.0], [2.0, 1.0]]?.cholesky_ex(false)?;
    /// assert_eq!(info.item::<i32>()?, 2);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::cholesky`], but for matrices that are not positive definite.
    #[track_caller]
    pub fn cholesky_ex(&self, upper: bool) -> Result<(Tensor, Tensor)> {
        cholesky("cholesky_ex", self, upper)
    }

    /// The solutions X of `A X = B`, where B is this tensor, and A the matrices with these factors of
    /// [`Tensor::cholesky`].
    ///
    /// ```
    /// use tensor::tensor;
    /// let factor = tensor![[2.0, 0.0], [1.0, 1.0]]?;
    /// let x = tensor![[6.0], [4.0]]?.cholesky_solve(&factor, false)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The sizes do not fit together; the factors are not square; the dtypes differ, or are neither
    /// `F32` nor `F64`; a tensor is not on the CPU.
    #[track_caller]
    pub fn cholesky_solve(&self, factor: &Tensor, upper: bool) -> Result<Tensor> {
        const OP: &str = "cholesky_solve";
        expect_matrices(OP, self)?;
        expect_square(OP, factor)?;
        same_dtype(OP, &[("self", self), ("factor", factor)])?;
        let (b, factor) = with_common_batch(OP, [("self", self), ("factor", factor)])?;
        let lower = if upper { factor.mt()? } else { factor.clone() };
        let output = solved(&lower.detach(), &b.detach())?;
        Ok(record(OP, [&b, &lower], output, |saving| {
            let (lower, x) = (saving.save(&lower), saving.save_output());
            move |grad: &Tensor, [_, needs_factor]: [bool; 2]| {
                let lower = lower.get()?;
                let of_b = grad.cholesky_solve(&lower, false)?;
                if !needs_factor {
                    return Ok([Some(of_b), None]);
                }
                let product = of_b.matmul(&x.get()?.mt()?)?;
                let both = product.add(&product.mt()?)?;
                Ok([Some(of_b), Some(both.matmul(&lower)?.neg()?)])
            }
        }))
    }

    /// The inverses of the matrices with these factors of [`Tensor::cholesky`].
    ///
    /// ```
    /// use tensor::tensor;
    /// let factor = tensor![[2.0, 0.0], [0.0, 1.0]]?;
    /// assert_eq!(factor.cholesky_inverse(false)?.to_vec::<f32>()?, [0.25, 0.0, 0.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The factors are not square; the dtype is neither `F32` nor `F64`; the tensor is not on the CPU.
    #[track_caller]
    pub fn cholesky_inverse(&self, upper: bool) -> Result<Tensor> {
        const OP: &str = "cholesky_inverse";
        expect_square(OP, self)?;
        let lower = if upper { self.mt()? } else { self.clone() };
        let n = self.shape()[self.dims() - 1];
        let identity = Tensor::eye(n, (self.dtype(), self.device()))?;
        let identity = identity.expand(self.layout().shape())?;
        let output = solved(&lower.detach(), &identity)?;
        Ok(record(OP, [&lower], output, |saving| {
            let (lower, inverse) = (saving.save(&lower), saving.save_output());
            move |grad: &Tensor, _| {
                let (lower, inverse) = (lower.get()?, inverse.get()?);
                let both = grad.add(&grad.mt()?)?;
                let product = inverse.matmul(&both)?.matmul(&inverse)?;
                Ok([Some(product.matmul(&lower)?.neg()?)])
            }
        }))
    }
}

/// The solutions with lower factors.
#[track_caller]
fn solved(lower: &Tensor, b: &Tensor) -> Result<Tensor> {
    let half = lower.solve_triangular(b, false, true, false)?;
    lower.mt()?.solve_triangular(&half, true, true, false)
}

#[track_caller]
fn cholesky(op: &'static str, x: &Tensor, upper: bool) -> Result<(Tensor, Tensor)> {
    expect_square(op, x)?;
    let read_lower = if upper { x.mt()? } else { x.clone() };
    let (output, info) = in_dtype!(x, factors(&read_lower))?;
    let factor = record(op, [&read_lower], output, |saving| {
        let factor = saving.save_output();
        // I. Murray, "Differentiation of the Cholesky decomposition" (2016).
        move |grad: &Tensor, _| {
            let factor = factor.get()?;
            let turned = factor.mt()?;
            let product = turned.matmul(grad)?;
            // The lower triangle with half the diagonal.
            let half = product.tril(0)?.add(&product.tril(-1)?)?.mul(0.5)?;
            let of_left = turned.solve_triangular(&half, true, true, false)?;
            let of_x = factor.solve_triangular(&of_left, false, false, false)?;
            Ok([Some(of_x.add(&of_x.mt()?)?.mul(0.5)?)])
        }
    });
    Ok((if upper { factor.mt()? } else { factor }, info))
}

#[track_caller]
fn factors<T: MatrixElement>(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let (factors, info) = linalg::cholesky(&read::<T>(x)?)?;
    Ok((give(factors, batch(x))?, give_numbers(info, batch(x))?))
}
