//! Pseudoinverses, ranks and condition numbers.

use super::{expect_matrices, expect_square, sizes};
use crate::autograd::record;
use crate::ops::operand::TensorOrScalar;
use crate::ops::reduce_norm::MatrixNorm;
use crate::{DType, Error, Result, Tensor, no_grad};

/// The singular values that count as zero: those that are not greater than `atol`, or than `rtol`
/// times the greatest one. Each is a number, or a tensor with one for each matrix. Without `rtol` it
/// is 0 where an `atol` above 0 is given, else the larger dimension times the distance from 1 to the
/// next number.
#[derive(Clone, Copy, Debug, Default)]
pub struct RankTolerance<'a> {
    /// The absolute tolerance, 0 if it is not given.
    pub atol: Option<TensorOrScalar<'a>>,
    /// The tolerance relative to the greatest singular value.
    pub rtol: Option<TensorOrScalar<'a>>,
}

/// With the feature `linalg`, of tensors on the CPU.
impl Tensor {
    /// The pseudoinverses of matrices (Moore and Penrose). Of `hermitian` ones, which are symmetric,
    /// they are made of eigenvalues, and only lower triangles are read.
    ///
    /// ```
    /// use tensor::{RankTolerance, tensor};
    /// let x = tensor![[2.0, 0.0], [0.0, 0.0]]?.pinv(RankTolerance::default(), false)?;
    /// assert!(x.allclose(&tensor![[0.5, 0.0], [0.0, 0.0]]?, 1e-5, 1e-6)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer than two dimensions; `hermitian` matrices are not square; tolerances do not
    /// broadcast to the batch; an iteration does not converge, as with NaN; the dtype is neither `F32`
    /// nor `F64`; the tensor is not on the CPU.
    #[track_caller]
    pub fn pinv(&self, tolerance: RankTolerance<'_>, hermitian: bool) -> Result<Tensor> {
        const OP: &str = "pinv";
        expect_matrices(OP, self)?;
        let output = no_grad(|| {
            let (left, values, right) = if hermitian {
                expect_square(OP, self)?;
                let (values, vectors) = self.eigh(false)?;
                let turned = vectors.mt()?;
                (vectors, values, turned)
            } else {
                let (u, s, vh) = self.svd(false)?;
                (vh.mt()?, s, u.mt()?)
            };
            let counts = tolerance.exceeded_by(self, &values.abs()?)?;
            let inverses = Tensor::where_cond(&counts, &values.reciprocal()?, 0)?;
            left.mul(&inverses.unsqueeze(-2)?)?.matmul(&right)
        })?;
        Ok(record(OP, [self], output, |saving| {
            let (x, inverse) = (saving.save(self), saving.save_output());
            move |grad: &Tensor, _| Ok([Some(backward(&x.get()?, &inverse.get()?, grad)?)])
        }))
    }

    /// The numbers of singular values of matrices that do not count as zero, as `I64`; of `hermitian`
    /// ones, which are symmetric, of eigenvalues.
    ///
    /// ```
    /// use tensor::{RankTolerance, tensor};
    /// let rank = tensor![[1.0, 2.0], [2.0, 4.0]]?.matrix_rank(RankTolerance::default(), false)?;
    /// assert_eq!(rank.item::<i64>()?, 1);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::pinv`].
    #[track_caller]
    pub fn matrix_rank(&self, tolerance: RankTolerance<'_>, hermitian: bool) -> Result<Tensor> {
        expect_matrices("matrix_rank", self)?;
        let x = self.detach();
        let values = if hermitian { x.eigvalsh(false)?.abs()? } else { x.svdvals()? };
        tolerance.exceeded_by(&x, &values)?.sum(-1)
    }

    /// The condition numbers of matrices: the norm of each times that of its inverse, infinite if it is
    /// singular. Of [`MatrixNorm::Two`] they are quotients of singular values, which matrices that are
    /// not square have too.
    ///
    /// ```
    /// use tensor::{MatrixNorm, tensor};
    /// let x = tensor![[4.0, 0.0], [0.0, 2.0]]?;
    /// assert!((x.cond(MatrixNorm::Two)?.item::<f32>()? - 2.0).abs() < 1e-6);
    /// assert_eq!(x.cond(MatrixNorm::One)?.item::<f32>()?, 2.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The matrices are not square, where they must be; or as [`Tensor::matrix_norm`] and
    /// [`Tensor::inv_ex`].
    #[track_caller]
    pub fn cond(&self, order: MatrixNorm) -> Result<Tensor> {
        const OP: &str = "cond";
        expect_matrices(OP, self)?;
        if matches!(order, MatrixNorm::Two | MatrixNorm::NegTwo) {
            let (rows, columns) = sizes(self);
            if rows.min(columns) == 0 {
                let value = format!("matrices of {rows} rows and {columns} columns");
                let why = "there is no singular value";
                return Err(Error::InvalidArgument { op: OP, argument: "self", value, why });
            }
            let values = self.svdvals()?;
            let (greatest, least) = (values.select(-1, 0)?, values.select(-1, -1)?);
            return match order {
                MatrixNorm::Two => greatest.div(&least),
                _ => least.div(&greatest),
            };
        }
        expect_square(OP, self)?;
        let (inverse, info) = self.inv_ex()?;
        let product = self.matrix_norm(order, [-2, -1], false)?.mul(&inverse.matrix_norm(
            order,
            [-2, -1],
            false,
        )?)?;
        Tensor::where_cond(&info.ne(0)?, f64::INFINITY, &product)
    }
}

impl RankTolerance<'_> {
    /// The sizes of singular values of `x`, along the last dimension, that do not count as zero.
    #[track_caller]
    fn exceeded_by(self, x: &Tensor, values: &Tensor) -> Result<Tensor> {
        let (rows, columns) = sizes(x);
        if values.numel() == 0 {
            return values.gt(0);
        }
        let epsilon = if x.dtype() == DType::F32 { f32::EPSILON.into() } else { f64::EPSILON };
        let usual = epsilon * rows.max(columns) as f64;
        let column = |tolerance: TensorOrScalar<'_>| match tolerance {
            TensorOrScalar::Scalar(number) => Tensor::scalar(number, x.dtype()),
            TensorOrScalar::Tensor(tensor) => tensor.detach().to(x.dtype()),
        };
        let atol = self.atol.map_or_else(|| Tensor::scalar(0.0, x.dtype()), column)?;
        let rtol = match self.rtol {
            Some(rtol) => column(rtol)?,
            None => {
                let usual = Tensor::scalar(usual, x.dtype())?;
                Tensor::where_cond(&atol.gt(0)?, 0.0, &usual)?
            }
        };
        let greatest = values.detach().amax(-1)?;
        let bound = atol.maximum(&rtol.mul(&greatest)?)?;
        values.detach().gt(&bound.unsqueeze(-1)?)
    }
}

/// G. H. Golub and V. Pereyra, "The Differentiation of Pseudo-Inverses and Nonlinear Least Squares
/// Problems Whose Variables Separate" (1973).
#[track_caller]
fn backward(x: &Tensor, inverse: &Tensor, grad: &Tensor) -> Result<Tensor> {
    let (rows, columns) = sizes(x);
    let (inverse_turned, grad_turned) = (inverse.mt()?, grad.mt()?);
    if rows <= columns {
        let k = grad_turned.matmul(inverse)?;
        let outer = k.matmul(&inverse_turned)?;
        let first = inverse.matmul(&k)?.mt()?.neg()?;
        let second = outer.sub(&x.matmul(inverse)?.matmul(&outer)?)?;
        let rest = grad_turned.sub(&k.matmul(x)?)?;
        return first.add(&second)?.add(&inverse_turned.matmul(&inverse.matmul(&rest)?)?);
    }
    let k = inverse.matmul(&grad_turned)?;
    let outer = inverse_turned.matmul(&k)?;
    let first = k.matmul(inverse)?.mt()?.neg()?;
    let rest = grad_turned.sub(&x.matmul(&k)?)?.matmul(inverse)?.matmul(&inverse_turned)?;
    let second = outer.sub(&outer.matmul(inverse)?.matmul(x)?)?;
    first.add(&rest)?.add(&second)
}
