//! Inverses, and systems of equations with square matrices.

use super::{batch, expect_done, expect_matrices, expect_square, give};
use super::{give_numbers, in_dtype, read, sizes, with_common_batch};
use crate::autograd::record;
use crate::dispatch::same_dtype;
use crate::host::linalg::{self, MatrixElement, Triangle};
use crate::{Error, Result, Tensor};

/// With the feature `linalg`, of tensors on the CPU.
impl Tensor {
    /// The inverses of square matrices. [`Tensor::solve`] is faster and more exact than a product with
    /// one.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[2.0, 0.0], [0.0, 4.0]]?.inv()?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.5, 0.0, 0.0, 0.25]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The matrices are not square, or one is singular; the dtype is neither `F32` nor `F64`; the
    /// tensor is not on the CPU.
    #[track_caller]
    pub fn inv(&self) -> Result<Tensor> {
        const OP: &str = "inv";
        let (inverse, info) = inverse(OP, self)?;
        expect_done(OP, &info, singular, "it has no inverse; inv_ex only says so")?;
        Ok(inverse)
    }

    /// [`Tensor::inv`], and for each matrix, as `I32`, 0 or the number, counted from 1, of the first
    /// zero on the diagonal of its factor U. It has no inverse then.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (_, info) = tensor![[1.0, 2.0], [2.0, 4.0]]?.inv_ex()?;
    /// assert_eq!(info.item::<i32>()?, 2);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::inv`], but for singular matrices.
    #[track_caller]
    pub fn inv_ex(&self) -> Result<(Tensor, Tensor)> {
        inverse("inv_ex", self)
    }

    /// The solutions X of `A X = B`, where A is this tensor of square matrices, or of `X A = B`, if it
    /// is not `left`. B is of matrices, or of vectors: if it is one, or has the shape of A without its
    /// last dimension. The dimensions before are broadcast. Gradients flow to both.
    ///
    /// ```
    /// use tensor::tensor;
    /// let a = tensor![[1.0, 2.0], [4.0, 4.0]]?;
    /// assert_eq!(a.solve(&tensor![3.0, 8.0]?, true)?.to_vec::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The sizes do not fit together; a matrix is singular; the dtypes differ, or are neither `F32`
    /// nor `F64`; a tensor is not on the CPU.
    #[track_caller]
    pub fn solve(&self, b: &Tensor, left: bool) -> Result<Tensor> {
        const OP: &str = "solve";
        let (solution, info) = solve(OP, self, b, left)?;
        expect_done(OP, &info, singular, "there is no single solution; solve_ex only says so")?;
        Ok(solution)
    }

    /// [`Tensor::solve`], and for each matrix the number of [`Tensor::inv_ex`].
    ///
    /// ```
    /// use tensor::tensor;
    /// let a = tensor![[1.0, 2.0], [2.0, 4.0]]?;
    /// let (_, info) = a.solve_ex(&tensor![3.0, 8.0]?, true)?;
    /// assert_eq!(info.item::<i32>()?, 2);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::solve`], but for singular matrices.
    #[track_caller]
    pub fn solve_ex(&self, b: &Tensor, left: bool) -> Result<(Tensor, Tensor)> {
        solve("solve_ex", self, b, left)
    }
}

fn singular(number: i32) -> String {
    format!("which is singular: the diagonal element {number} of its factor U is zero")
}

#[track_caller]
fn inverse(op: &'static str, x: &Tensor) -> Result<(Tensor, Tensor)> {
    expect_square(op, x)?;
    let identity = Tensor::eye(sizes(x).0, (x.dtype(), x.device()))?;
    let identity = identity.expand(x.layout().shape())?;
    let (output, info) = in_dtype!(x, solved(x, &identity))?;
    let inverse = record(op, [x], output, |saving| {
        let inverse = saving.save_output();
        move |grad: &Tensor, _| {
            let turned = inverse.get()?.mt()?;
            Ok([Some(turned.matmul(grad)?.matmul(&turned)?.neg()?)])
        }
    });
    Ok((inverse, info))
}

#[track_caller]
fn solve(op: &'static str, a: &Tensor, b: &Tensor, left: bool) -> Result<(Tensor, Tensor)> {
    expect_square(op, a)?;
    same_dtype(op, &[("self", a), ("b", b)])?;
    let is_vector = b.dims() == 1 || b.shape() == &a.shape()[..a.dims() - 1];
    let matrices = if is_vector { b.unsqueeze(-1)? } else { b.clone() };
    expect_matrices(op, &matrices)?;
    let (rows, columns) = sizes(&matrices);
    if sizes(a).0 != if left { rows } else { columns } || (is_vector && !left) {
        let shapes = [("self", a), ("b", b)];
        let shapes = shapes.map(|(name, x)| (name, x.layout().shape().clone())).to_vec();
        let rule = "`b` must have as many rows (columns, from the right) as the matrices, and vectors \
                    stand on the right";
        return Err(Error::ShapeMismatch { op, shapes, rule });
    }
    if !left {
        let (solution, info) = solve(op, &a.mt()?, &b.mt()?, true)?;
        return Ok((solution.mt()?, info));
    }
    let (a, b) = with_common_batch(op, [("self", a), ("b", &matrices)])?;
    let (output, info) = in_dtype!(a, solved(&a, &b))?;
    let solution = record(op, [&a, &b], output, |saving| {
        let (a, x) = (saving.save(&a), saving.save_output());
        move |grad: &Tensor, [needs_a, _]: [bool; 2]| {
            // `solve_ex`, since the forward pass may have been one of a singular matrix.
            let (of_b, _) = a.get()?.mt()?.solve_ex(grad, true)?;
            let of_a = || of_b.matmul(&x.get()?.mt()?)?.neg();
            Ok([needs_a.then(of_a).transpose()?, Some(of_b)])
        }
    });
    Ok((if is_vector { solution.squeeze(-1)? } else { solution }, info))
}

/// The solutions, and the numbers of the first zeros on the diagonals of U.
#[track_caller]
fn solved<T: MatrixElement>(a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let (mut factors, mut solutions) = (read::<T>(a)?, read::<T>(b)?);
    let pivots = linalg::lu(&mut factors)?;
    linalg::exchange_rows(&mut solutions, &pivots, factors.rows);
    let info = (0..factors.count).map(|number| factors.first_zero_on_diagonal(number)).collect();
    linalg::solve_triangular(&factors, &mut solutions, Triangle { upper: false, unit: true });
    linalg::solve_triangular(&factors, &mut solutions, Triangle { upper: true, unit: false });
    Ok((give(solutions, batch(b))?, give_numbers(info, batch(a))?))
}
