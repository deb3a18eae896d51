//! The exponential function of matrices, and products of reflections.

use super::contract::mismatch;
use crate::autograd::{SavedTensor, recomputed, record};
use crate::{DType, Error, Result, Tensor};

impl Tensor {
    /// The exponential function of square matrices, as a power series of degree 16 of the matrices over
    /// a power of 2, which are then squared. The host waits for the largest norm.
    ///
    /// P. Bader, S. Blanes and F. Casas, "Computing the Matrix Exponential with an Optimized Taylor
    /// Polynomial Approximation" (2019).
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[0.0, 1.0], [0.0, 0.0]]?.matrix_exp()?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 1.0, 0.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The last two sizes differ, or are missing; the dtype is neither `F32` nor `F64`.
    #[track_caller]
    pub fn matrix_exp(&self) -> Result<Tensor> {
        const OP: &str = "matrix_exp";
        self.at_least(OP, 2)?;
        let [.., rows, columns] = *self.shape() else { unreachable!("there are two dimensions") };
        if rows != columns {
            return Err(mismatch(OP, self, self, "the matrices must be square"));
        }
        if !matches!(self.dtype(), DType::F32 | DType::F64) {
            let (dtype, device) = (self.dtype(), self.device());
            return Err(Error::UnsupportedDType { op: OP, dtype, device });
        }
        if self.numel() == 0 {
            return self.clone_data();
        }
        let norms = self.detach().abs()?.sum(-2)?.amax(())?;
        let norm: f64 = norms.to(DType::F64)?.item()?;
        // Up to there the series is exact. Of infinities and NaN nothing can be made.
        let bound = if self.dtype() == DType::F32 { 2.2 } else { 0.78 };
        let squarings = (norm / bound).log2().ceil().clamp(0.0, 1100.0) as i32;
        recomputed(&[self], move |operands: &[Tensor]| {
            let mut power = series(&operands[0].mul(2f64.powi(-squarings))?)?;
            for _ in 0..squarings {
                power = power.matmul(&power)?;
            }
            Ok(power)
        })
    }

    /// The first columns of the products of reflections `I - tau v vᵀ`, whose vectors v are the columns
    /// of this tensor below its diagonal, with a one there (LAPACK's `orgqr`). There are as many columns
    /// as in this tensor, and as many reflections as `tau` has elements.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (v, tau) = (tensor![[1.0], [1.0]]?, tensor![1.0]?);
    /// assert_eq!(v.householder_product(&tau)?.to_vec::<f32>()?, [0.0, -1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are more columns than rows, or more elements of `tau` than columns; the dimensions before
    /// are not the same; the dtypes differ, or are neither `F32` nor `F64`; the devices differ.
    #[track_caller]
    pub fn householder_product(&self, tau: &Tensor) -> Result<Tensor> {
        const OP: &str = "householder_product";
        self.at_least(OP, 2)?;
        let [batch @ .., rows, columns] = self.shape() else { unreachable!("two dimensions") };
        let fits = match tau.shape() {
            [others @ .., count] => others == batch && count <= columns && columns <= rows,
            [] => false,
        };
        if !fits {
            let rule = "there must be no more columns than rows, and no more `tau` than columns";
            return Err(mismatch(OP, self, tau, rule));
        }
        if self.dtype() != tau.dtype() || !matches!(self.dtype(), DType::F32 | DType::F64) {
            let arguments = vec![("self", self.dtype()), ("tau", tau.dtype())];
            let rule = "they must be equal, and float32 or float64";
            return Err(Error::DTypeMismatch { op: OP, arguments, rule });
        }
        let ones = Tensor::eye_with(*rows, *columns, (self.dtype(), self.device()))?;
        if tau.numel() > 0 {
            return recomputed(&[self, tau], move |operands: &[Tensor]| {
                reflections(&operands[0], &operands[1], &ones)
            });
        }
        // Without reflections it is a constant, of which zeros are the gradient.
        let product = ones.expand(self.layout().shape())?.clone_data()?;
        Ok(record(OP, [self, tau], product, |saving| {
            let operands = [saving.save(self), saving.save(tau)];
            move |_: &Tensor, _| {
                let zeros = |of: &SavedTensor| of.get()?.zeros_like().map(Some);
                Ok([zeros(&operands[0])?, zeros(&operands[1])?])
            }
        }))
    }
}

/// The product of reflections, of which there is one at least, from ones on the diagonal on.
#[track_caller]
fn reflections(x: &Tensor, tau: &Tensor, ones: &Tensor) -> Result<Tensor> {
    let vectors = x.tril(-1)?.add(ones)?;
    let mut product = ones.expand(x.layout().shape())?;
    // The last one first, so that each is a change of all columns.
    for place in (0..tau.shape()[tau.dims() - 1]).rev() {
        let vector = vectors.narrow(-1, place, 1)?;
        let factor = tau.narrow(-1, place, 1)?.unsqueeze(-1)?;
        let row = vector.transpose(-2, -1)?.matmul(&product)?;
        product = product.sub(&vector.mul(&factor)?.matmul(&row)?)?;
    }
    Ok(product)
}

/// The power series of degree 16, by powers up to the fourth (M. S. Paterson and L. J. Stockmeyer,
/// "On the Number of Nonscalar Multiplications Necessary to Evaluate Polynomials", 1973).
#[track_caller]
fn series(x: &Tensor) -> Result<Tensor> {
    let n = x.shape()[x.dims() - 1];
    let eye = Tensor::eye(n, (x.dtype(), x.device()))?;
    let square = x.matmul(x)?;
    let cube = square.matmul(x)?;
    let fourth = square.matmul(&square)?;
    let mut factorials = [1.0; 17];
    for k in 1..17 {
        factorials[k] = factorials[k - 1] / k as f64;
    }
    let part = |k: usize| -> Result<Tensor> {
        let low = x.mul(factorials[k + 1])?.add(&eye.mul(factorials[k])?)?;
        low.add(&square.mul(factorials[k + 2])?)?.add(&cube.mul(factorials[k + 3])?)
    };
    let mut sum = part(12)?.add(&fourth.mul(factorials[16])?)?;
    for k in [8, 4, 0] {
        sum = sum.matmul(&fourth)?.add(&part(k)?)?;
    }
    Ok(sum)
}
