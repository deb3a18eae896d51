//! Systems of equations with triangular matrices.

use super::{batch, with_common_batch};
use super::{expect_matrices, expect_square, give, in_dtype, read, sizes};
use crate::autograd::record;
use crate::dispatch::same_dtype;
use crate::host::linalg::{self, MatrixElement, Triangle};
use crate::{Error, Result, Tensor};

const OP: &str = "solve_triangular";

/// With the feature `linalg`, of tensors on the CPU.
impl Tensor {
    /// The solutions X of `A X = B`, where A is this tensor of triangular matrices, or of `X A = B`, if
    /// it is not `left` (`torch.linalg.solve_triangular`). Only the upper or the lower triangle is
    /// read; if it is `unitriangular`, without its diagonal, which is of ones. The dimensions before
    /// the matrices are broadcast. Gradients flow to both.
    ///
    /// ```
    /// use tensor::tensor;
    /// let a = tensor![[2.0, 0.0], [1.0, 4.0]]?;
    /// let b = tensor![[2.0], [5.0]]?;
    /// let x = a.solve_triangular(&b, false, true, false)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The sizes do not fit together; the matrices are not square; the dtypes differ, or are neither
    /// `F32` nor `F64`; a tensor is not on the CPU. A zero on the diagonal is none: it gives
    /// infinities.
    #[track_caller]
    pub fn solve_triangular(
        &self,
        b: &Tensor,
        upper: bool,
        left: bool,
        unitriangular: bool,
    ) -> Result<Tensor> {
        expect_square(OP, self)?;
        expect_matrices(OP, b)?;
        same_dtype(OP, &[("self", self), ("b", b)])?;
        let (rows, columns) = sizes(b);
        if sizes(self).0 != if left { rows } else { columns } {
            let shapes = [("self", self), ("b", b)];
            let shapes = shapes.map(|(name, x)| (name, x.layout().shape().clone())).to_vec();
            let rule = "`b` must have as many rows (columns, from the right) as the matrices";
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
        if !left {
            let turned = self.mt()?;
            let solution = turned.solve_triangular(&b.mt()?, !upper, true, unitriangular)?;
            return solution.mt();
        }
        let (a, b) = with_common_batch(OP, [("self", self), ("b", b)])?;
        let triangle = Triangle { upper, unit: unitriangular };
        let output = in_dtype!(a, solved(&a, &b, triangle))?;
        Ok(record(OP, [&a, &b], output, |saving| {
            let (a, x) = (saving.save(&a), saving.save_output());
            move |grad: &Tensor, [needs_a, _]: [bool; 2]| {
                let turned = a.get()?.mt()?;
                let of_b = turned.solve_triangular(grad, !upper, true, unitriangular)?;
                if !needs_a {
                    return Ok([None, Some(of_b)]);
                }
                let of_a = of_b.matmul(&x.get()?.mt()?)?.neg()?;
                let inside = i64::from(unitriangular);
                let of_a = if upper { of_a.triu(inside)? } else { of_a.tril(-inside)? };
                Ok([Some(of_a), Some(of_b)])
            }
        }))
    }
}

#[track_caller]
fn solved<T: MatrixElement>(a: &Tensor, b: &Tensor, triangle: Triangle) -> Result<Tensor> {
    let (matrices, mut solutions) = (read::<T>(a)?, read::<T>(b)?);
    linalg::solve_triangular(&matrices, &mut solutions, triangle);
    give(solutions, batch(b))
}
