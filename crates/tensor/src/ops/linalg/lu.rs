//! LU decomposition with exchanges of rows, and what is solved by it.

use super::{batch, expect_matrices, expect_square, give, give_numbers};
use super::{in_dtype, read, sizes};
use crate::autograd::{recomputed, record};
use crate::dispatch::same_dtype;
use crate::host::linalg::{self, MatrixElement};
use crate::{DType, Device, Error, Result, Tensor};

/// With the feature `linalg`, of tensors on the CPU.
impl Tensor {
    /// The matrices P, L and U, of which these are the products: a permutation, a lower triangular
    /// matrix with ones on its diagonal, and an upper triangular one (`torch.linalg.lu`).
    ///
    /// ```
    /// use tensor::tensor;
    /// let a = tensor![[1.0, 2.0], [4.0, 4.0]]?;
    /// let (p, l, u) = a.lu()?;
    /// assert_eq!(u.to_vec::<f32>()?, [4.0, 4.0, 0.0, 1.0]);
    /// assert!(p.matmul(&l)?.matmul(&u)?.equal(&a)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer than two dimensions; the dtype is neither `F32` nor `F64`; the tensor is not on
    /// the CPU.
    #[track_caller]
    pub fn lu(&self) -> Result<(Tensor, Tensor, Tensor)> {
        let (packed, pivots) = lu_factor("lu", self)?;
        let permutation = permutation(&pivots, sizes(self).0, self.dtype())?;
        let (lower, upper) = unpacked(&packed)?;
        Ok((permutation, lower, upper))
    }

    /// [`Tensor::lu`] as [`Tensor::lu_solve`] takes it: L and U in one matrix, without the ones, and as
    /// `I32` the row, counted from 1, that each row was exchanged with.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (lu, pivots) = tensor![[1.0, 2.0], [4.0, 4.0]]?.lu_factor()?;
    /// assert_eq!(lu.to_vec::<f32>()?, [4.0, 4.0, 0.25, 1.0]);
    /// assert_eq!(pivots.to_vec::<i32>()?, [2, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::lu`].
    #[track_caller]
    pub fn lu_factor(&self) -> Result<(Tensor, Tensor)> {
        lu_factor("lu_factor", self)
    }

    /// The solutions X of `A X = B`, where this is the matrix that [`Tensor::lu_factor`] made of A; or of
    /// `X A = B`, if it is not `left`, and with the transpose of A, if it is `adjoint`.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (lu, pivots) = tensor![[1.0, 2.0], [4.0, 4.0]]?.lu_factor()?;
    /// let x = lu.lu_solve(&pivots, &tensor![[3.0], [8.0]]?, true, false)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The sizes do not fit together; the matrices are not square; the pivots are no row numbers of
    /// dtype `I32`; the other dtypes differ, or are neither `F32` nor `F64`; a tensor is not on the
    /// CPU.
    #[track_caller]
    pub fn lu_solve(
        &self,
        pivots: &Tensor,
        b: &Tensor,
        left: bool,
        adjoint: bool,
    ) -> Result<Tensor> {
        const OP: &str = "lu_solve";
        expect_square(OP, self)?;
        expect_matrices(OP, b)?;
        same_dtype(OP, &[("self", self), ("b", b)])?;
        pivots.expect_dtype(OP, DType::I32)?;
        let n = sizes(self).0;
        let expected = [batch(self), &[n]].concat();
        let (rows, columns) = sizes(b);
        if pivots.shape() != expected || n != if left { rows } else { columns } {
            let shapes = [("self", self), ("pivots", pivots), ("b", b)];
            let shapes = shapes.map(|(name, x)| (name, x.layout().shape().clone())).to_vec();
            let rule = "there must be a pivot for each row, and as many rows (columns, from the right) \
                        of `b`";
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
        if !left {
            return self.lu_solve(pivots, &b.mt()?, true, !adjoint)?.mt();
        }
        recomputed(&[self, pivots, b], move |operands: &[Tensor]| {
            solve(&operands[0], &operands[1], &operands[2], adjoint)
        })
    }
}

/// [`Tensor::lu_solve`] from the left.
#[track_caller]
fn solve(packed: &Tensor, pivots: &Tensor, b: &Tensor, adjoint: bool) -> Result<Tensor> {
    let permutation = permutation(pivots, sizes(packed).0, packed.dtype())?;
    if !adjoint {
        let permuted = permutation.mt()?.matmul(b)?;
        let half = packed.solve_triangular(&permuted, false, true, true)?;
        return packed.solve_triangular(&half, true, true, false);
    }
    let turned = packed.mt()?;
    let half = turned.solve_triangular(b, false, true, false)?;
    permutation.matmul(&turned.solve_triangular(&half, true, true, true)?)
}

/// The factors L and U of packed ones.
#[track_caller]
fn unpacked(packed: &Tensor) -> Result<(Tensor, Tensor)> {
    let (rows, columns) = sizes(packed);
    let size = rows.min(columns);
    let ones = Tensor::eye_with(rows, size, (packed.dtype(), packed.device()))?;
    let lower = packed.narrow(-1, 0, size)?.tril(-1)?.add(&ones)?;
    Ok((lower, packed.narrow(-2, 0, size)?.triu(0)?))
}

/// The matrices that undo exchanges of rows.
#[track_caller]
fn permutation(pivots: &Tensor, rows: usize, dtype: DType) -> Result<Tensor> {
    const OP: &str = "lu_solve";
    let size = pivots.shape()[pivots.dims() - 1];
    let numbers = pivots.to_vec::<i32>()?;
    let count: usize = pivots.shape()[..pivots.dims() - 1].iter().product();
    let mut places: Vec<i64> = crate::reserve::try_with_capacity(count.saturating_mul(rows))?;
    for number in 0..count {
        let mut row_at: Vec<i64> = (0..rows as i64).collect();
        for (row, &pivot) in numbers[number * size..][..size].iter().enumerate() {
            let Some(other) =
                usize::try_from(pivot).ok().filter(|&other| (1..=rows).contains(&other))
            else {
                let (value, why) = (pivot.to_string(), "rows are counted from 1");
                return Err(Error::InvalidArgument { op: OP, argument: "pivots", value, why });
            };
            row_at.swap(row, other - 1);
        }
        places.extend(row_at);
    }
    let shape = [&pivots.shape()[..pivots.dims() - 1], &[1, rows]].concat();
    let places = Tensor::from_vec(places, shape, (DType::I64, Device::Cpu))?;
    let rows = Tensor::arange(rows, (DType::I64, Device::Cpu))?.unsqueeze(1)?;
    rows.eq(&places)?.to(dtype)
}

#[track_caller]
fn lu_factor(op: &'static str, x: &Tensor) -> Result<(Tensor, Tensor)> {
    expect_matrices(op, x)?;
    let (output, pivots) = in_dtype!(x, factors(x))?;
    let packed = record(op, [x], output, |saving| {
        let (packed, pivots) = (saving.save_output(), pivots.clone());
        move |grad: &Tensor, _| {
            let packed = packed.get()?;
            let of_permuted = backward(&packed, grad)?;
            let permutation = permutation(&pivots, sizes(&packed).0, packed.dtype())?;
            Ok([Some(permutation.matmul(&of_permuted)?)])
        }
    });
    Ok((packed, pivots))
}

/// The gradient of the matrix whose rows are exchanged already, by the triangles that the change of
/// each factor is in.
#[track_caller]
fn backward(packed: &Tensor, grad: &Tensor) -> Result<Tensor> {
    let (rows, columns) = sizes(packed);
    let size = rows.min(columns);
    let (lower, upper) = unpacked(packed)?;
    let of_lower = grad.narrow(-1, 0, size)?.tril(-1)?;
    let of_upper = grad.narrow(-2, 0, size)?.triu(0)?;
    let (upper_1, of_upper_1) = (upper.narrow(-1, 0, size)?, of_upper.narrow(-1, 0, size)?);
    let (lower_1, of_lower_1) = (lower.narrow(-2, 0, size)?, of_lower.narrow(-2, 0, size)?);
    let mut in_lower = lower_1.mt()?.matmul(&of_lower_1)?;
    let mut in_upper = of_upper_1.matmul(&upper_1.mt()?)?;
    let (wide, tall) = (columns - size, rows - size);
    if wide > 0 {
        let (upper_2, of_upper_2) =
            (upper.narrow(-1, size, wide)?, of_upper.narrow(-1, size, wide)?);
        in_lower = in_lower.sub(&of_upper_2.matmul(&upper_2.mt()?)?)?;
    }
    if tall > 0 {
        let (lower_2, of_lower_2) =
            (lower.narrow(-2, size, tall)?, of_lower.narrow(-2, size, tall)?);
        in_upper = in_upper.sub(&lower_2.mt()?.matmul(&of_lower_2)?)?;
    }
    let middle = in_lower.tril(-1)?.add(&in_upper.triu(0)?)?;
    let (lower_turned, upper_turned) = (lower_1.mt()?, upper_1.mt()?);
    if tall > 0 {
        let top = lower_turned.solve_triangular(&middle, true, true, true)?;
        let both = Tensor::cat([&top, &of_lower.narrow(-2, size, tall)?], -2)?;
        return upper_turned.solve_triangular(&both, false, false, false);
    }
    let mut both = upper_turned.solve_triangular(&middle, false, false, false)?;
    if wide > 0 {
        both = Tensor::cat([&both, &of_upper.narrow(-1, size, wide)?], -1)?;
    }
    lower_turned.solve_triangular(&both, true, true, true)
}

#[track_caller]
fn factors<T: MatrixElement>(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let mut matrices = read::<T>(x)?;
    let pivots = linalg::lu(&mut matrices)?;
    let shape = [batch(x), &[matrices.rows.min(matrices.columns)]].concat();
    Ok((give(matrices, batch(x))?, give_numbers(pivots, &shape)?))
}
