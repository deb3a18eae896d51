//! Norms of vectors.

use std::panic::Location;

use gpu_runtime::at_place;

use super::autocast::autocast;
use super::reduce::{Folded, count_true};
use super::scan::widened;
use crate::autograd::record;
use crate::dims::{ReduceDims, different_dims, keepdim as kept, resolve_dim};
use crate::{Result, Tensor, no_grad};

/// A norm of matrices (`torch.linalg.matrix_norm`). Those that need singular values are there with the
/// feature `linalg`, for matrices on the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MatrixNorm {
    /// The root of the sum of the squares: Frobenius' norm.
    #[default]
    Fro,
    /// The largest sum of absolute values in a column (`ord=1`).
    One,
    /// The smallest sum of absolute values in a column (`ord=-1`).
    NegOne,
    /// The largest sum of absolute values in a row (`ord=inf`).
    Inf,
    /// The smallest sum of absolute values in a row (`ord=-inf`).
    NegInf,
    /// The largest singular value (`ord=2`).
    #[cfg(feature = "linalg")]
    Two,
    /// The smallest singular value (`ord=-2`).
    #[cfg(feature = "linalg")]
    NegTwo,
    /// The sum of the singular values: the nuclear norm (`ord="nuc"`).
    #[cfg(feature = "linalg")]
    Nuclear,
}

impl Tensor {
    /// The norms of the matrices that two dimensions form, that of the rows first. The dimensions
    /// stay with size 1 if `keepdim` says so.
    ///
    /// ```
    /// use tensor::{MatrixNorm, tensor};
    /// let x = tensor![[1.0, -2.0], [3.0, 4.0]]?;
    /// assert_eq!(x.matrix_norm(MatrixNorm::One, [0, 1], false)?.item::<f32>()?, 6.0);
    /// assert_eq!(x.matrix_norm(MatrixNorm::Inf, [0, 1], false)?.item::<f32>()?, 7.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating one; a dimension does not exist, both are the same, or there is no
    /// smallest sum.
    #[track_caller]
    pub fn matrix_norm(
        &self,
        order: MatrixNorm,
        dims: [isize; 2],
        keepdim: bool,
    ) -> Result<Tensor> {
        const OP: &str = "matrix_norm";
        let cast = autocast(OP, [self])?;
        let [x] = cast.operands();
        x.composed_matrix_norm(order, dims, keepdim)
    }

    #[track_caller]
    fn composed_matrix_norm(
        &self,
        order: MatrixNorm,
        dims: [isize; 2],
        keepdim: bool,
    ) -> Result<Tensor> {
        const OP: &str = "matrix_norm";
        self.expect_floats(OP)?;
        self.at_least(OP, 2)?;
        let [row, column] = [dims[0], dims[1]].map(|dim| resolve_dim(OP, dim, self.dims()));
        let (row, column) = (row?, column?);
        different_dims(OP, row, column)?;
        let sums = |over: usize| self.abs()?.sum(kept(over));
        // Of no sums the largest is 0, as the norm of a matrix without elements is.
        let largest = |sums: Tensor, of: usize| match self.shape()[of] {
            0 => sums.sum(kept(of)),
            _ => sums.amax(kept(of)),
        };
        let norms = match order {
            MatrixNorm::Fro => self.norm(2, ReduceDims::from([row, column]).keepdim(true))?,
            MatrixNorm::One => largest(sums(row)?, column)?,
            MatrixNorm::NegOne => sums(row)?.amin(kept(column))?,
            MatrixNorm::Inf => largest(sums(column)?, row)?,
            MatrixNorm::NegInf => sums(column)?.amin(kept(row))?,
            #[cfg(feature = "linalg")]
            MatrixNorm::Two | MatrixNorm::NegTwo | MatrixNorm::Nuclear => {
                let last = self.movedim([row, column], [-2, -1])?;
                let values = last.svdvals()?;
                let norms = match order {
                    MatrixNorm::Two => values.amax(-1)?,
                    MatrixNorm::NegTwo => values.amin(-1)?,
                    _ => values.sum(-1)?,
                };
                let (first, second) = (row.min(column), row.max(column));
                norms.unsqueeze(first as isize)?.unsqueeze(second as isize)?
            }
        };
        match keepdim {
            true => Ok(norms),
            false => norms.squeeze(row.max(column) as isize)?.squeeze(row.min(column) as isize),
        }
    }

    /// The `p`-norms over some dimensions, or over all: the sum of the `p`-th powers of the absolute
    /// values to the power of `1 / p`. An infinite `p` gives the largest absolute
    /// value, or the smallest; 0 the number of elements that differ from zero. Halves are computed
    /// in `F32` and rounded once. The gradient of a norm that is 0 is 0.
    ///
    /// ```
    /// use tensor::{keepdim, tensor};
    /// let x = tensor![[3.0, -4.0], [0.0, 2.0]]?;
    /// assert_eq!(x.norm(2, 1)?.to_vec::<f32>()?, [5.0, 2.0]);
    /// assert_eq!(x.norm(1, ())?.item::<f32>()?, 9.0);
    /// assert_eq!(x.norm(f64::INFINITY, keepdim(0))?.to_vec::<f32>()?, [3.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating one; a dimension does not exist, is given twice, or has no
    /// elements, where `p` is infinite or negative.
    #[track_caller]
    pub fn norm(&self, p: impl Into<f64>, dims: impl Into<ReduceDims>) -> Result<Tensor> {
        norm(autocast("norm", [self])?.operands()[0], p.into(), &dims.into())
    }

    /// The `p`-norm of the difference: [`Tensor::norm`] of all its elements. `other` is broadcast.
    /// The difference is not kept for the gradient, but computed again.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![4.0, 4.0]?.dist(&tensor![1.0, 0.0]?, 2)?.item::<f32>()?, 5.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shapes do not broadcast; the operands lie on different devices; the difference is not of
    /// a floating dtype; it has no elements, where `p` is infinite or negative.
    #[track_caller]
    pub fn dist(&self, other: &Tensor, p: impl Into<f64>) -> Result<Tensor> {
        const OP: &str = "dist";
        let p = p.into();
        let cast = autocast(OP, [self, other])?;
        let [a, b] = cast.operands();
        let compute = || -> Result<(Tensor, Folded)> {
            let difference = a.sub(b)?;
            let folded = Folded::new(OP, &difference, &().into())?;
            Ok((difference.norm(p, ())?, folded))
        };
        let (output, folded) = at_place(Location::caller(), || no_grad(compute))?;
        Ok(record(OP, [a, b], output, |saving| {
            let operands = [saving.save(a), saving.save(b)];
            let output = saving.save_output();
            move |grad: &Tensor, [_, needs_other]: [bool; 2]| {
                let difference = operands[0].get()?.sub(&operands[1].get()?)?;
                let (grad, norm) = (folded.restore(grad)?, folded.restore(&output.get()?)?);
                let grad = NormKind::of(p).backward(&difference, &norm, &grad, &folded)?;
                let of_other = needs_other.then(|| grad.neg()).transpose()?;
                Ok([Some(grad), of_other])
            }
        }))
    }
}

#[track_caller]
fn norm(x: &Tensor, p: f64, dims: &ReduceDims) -> Result<Tensor> {
    const OP: &str = "norm";
    x.expect_floats(OP)?;
    let (kind, folded) = (NormKind::of(p), Folded::new(OP, x, dims)?);
    let compute = || {
        let norm = kind.forward(&widened(x)?, &folded)?;
        folded.fold_away(&norm.to(x.dtype())?)
    };
    let output = at_place(Location::caller(), || no_grad(compute))?;
    Ok(record(OP, [x], output, |saving| {
        let (x, output) = (saving.save(x), saving.save_output());
        move |grad: &Tensor, _| {
            let (grad, norm) = (folded.restore(grad)?, folded.restore(&output.get()?)?);
            Ok([Some(kind.backward(&x.get()?, &norm, &grad, &folded)?)])
        }
    }))
}

/// The norms that have formulas of their own.
#[derive(Clone, Copy)]
enum NormKind {
    Count,
    Sum,
    Euclidean,
    Extreme { largest: bool },
    Power(f64),
}

impl NormKind {
    fn of(p: f64) -> NormKind {
        match p {
            0.0 => NormKind::Count,
            1.0 => NormKind::Sum,
            2.0 => NormKind::Euclidean,
            p if p.is_infinite() => NormKind::Extreme { largest: p > 0.0 },
            p => NormKind::Power(p),
        }
    }

    /// The norms, with the dimensions of size 1.
    #[track_caller]
    fn forward(self, x: &Tensor, folded: &Folded) -> Result<Tensor> {
        let dims = folded.kept();
        match self {
            NormKind::Count => x.ne(0)?.sum(dims)?.to(x.dtype()),
            NormKind::Sum => x.abs()?.sum(dims),
            NormKind::Euclidean => x.square()?.sum(dims)?.sqrt(),
            NormKind::Extreme { largest: true } => x.abs()?.amax(dims),
            NormKind::Extreme { largest: false } => x.abs()?.amin(dims),
            NormKind::Power(p) => x.abs()?.pow(p)?.sum(dims)?.pow(1.0 / p),
        }
    }

    /// The gradient of the elements: what a norm changes by, of which zeros get none.
    #[track_caller]
    fn backward(self, x: &Tensor, norm: &Tensor, grad: &Tensor, folded: &Folded) -> Result<Tensor> {
        match self {
            NormKind::Count => x.zeros_like(),
            NormKind::Sum => x.sign()?.mul(grad),
            NormKind::Euclidean => grad.mul(&x.div(norm)?.masked_fill(&norm.eq(0)?, 0)?),
            NormKind::Extreme { .. } => {
                let size = x.abs()?;
                let chosen = size.eq(norm)?.logical_or(&size.isnan()?)?;
                let count = count_true(&chosen, folded)?;
                x.sign()?.mul(&grad.div(&count)?)?.mul(&chosen)
            }
            NormKind::Power(p) if p < 1.0 => {
                let power = x.sign()?.mul(&x.abs()?.pow(p - 1.0)?)?;
                power.masked_fill(&x.eq(0)?, 0)?.mul(grad)?.mul(&norm.pow(1.0 - p)?)
            }
            NormKind::Power(p) => {
                let power = match p < 2.0 {
                    true => x.sign()?.mul(&x.abs()?.pow(p - 1.0)?)?,
                    false => x.mul(&x.abs()?.pow(p - 2.0)?)?,
                };
                let scale = grad.div(&norm.pow(p - 1.0)?)?.masked_fill(&norm.eq(0)?, 0)?;
                power.mul(&scale)
            }
        }
    }
}
