//! Integrals of samples by the trapezoidal rule.

use super::operand::TensorOrScalar;
use crate::dims::resolve_dim;
use crate::{Error, Result, Shape, Tensor};

impl Tensor {
    /// The integral along a dimension by the trapezoidal rule. `spacing` is the distance between
    /// neighbours, or a tensor of the points at which the elements are: a vector along `dim`, or one
    /// that broadcasts to this tensor.
    ///
    /// ```
    /// use tensor::tensor;
    /// let y = tensor![1.0, 2.0, 4.0]?;
    /// assert_eq!(y.trapezoid(1.0, -1)?.item::<f32>()?, 4.5);
    /// assert_eq!(y.trapezoid(&tensor![0.0, 1.0, 3.0]?, -1)?.item::<f32>()?, 7.5);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension; the points do not fit, or lie on another device.
    #[track_caller]
    pub fn trapezoid<'a>(
        &self,
        spacing: impl Into<TensorOrScalar<'a>>,
        dim: isize,
    ) -> Result<Tensor> {
        const OP: &str = "trapezoid";
        let dim = dim_of(OP, self, dim)?;
        if self.shape()[dim] == 0 {
            let shape: Shape = self.layout().shape().without(dim);
            let dtype = self.true_divide(2)?.dtype();
            return Tensor::zeros(shape, (dtype, self.device()));
        }
        match spacing.into() {
            // The ends count half.
            TensorOrScalar::Scalar(dx) => {
                let own = dim as isize;
                let ends = self.select(own, 0)?.add(&self.select(own, -1)?)?;
                self.sum(own)?.sub(&ends.mul(0.5)?)?.mul(dx)
            }
            TensorOrScalar::Tensor(points) => {
                areas(OP, self, points, dim)?.sum(dim as isize)?.true_divide(2)
            }
        }
    }

    /// The integrals up to each element but the first: [`Tensor::trapezoid`] step by step.
    ///
    /// ```
    /// use tensor::tensor;
    /// let y = tensor![1.0, 2.0, 4.0]?;
    /// assert_eq!(y.cumulative_trapezoid(1.0, -1)?.to_vec::<f32>()?, [1.5, 4.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::trapezoid`].
    #[track_caller]
    pub fn cumulative_trapezoid<'a>(
        &self,
        spacing: impl Into<TensorOrScalar<'a>>,
        dim: isize,
    ) -> Result<Tensor> {
        const OP: &str = "cumulative_trapezoid";
        let dim = dim_of(OP, self, dim)?;
        let areas = match spacing.into() {
            TensorOrScalar::Scalar(dx) => {
                let (before, after) = neighbours(self, dim)?;
                before.add(&after)?.mul(dx.to_f64() / 2.0)?
            }
            TensorOrScalar::Tensor(points) => areas(OP, self, points, dim)?.true_divide(2)?,
        };
        areas.cumsum(dim as isize)
    }
}

/// The dimension's number; the tensor must have one.
fn dim_of(op: &'static str, x: &Tensor, dim: isize) -> Result<usize> {
    match x.dims() {
        0 => Err(Error::DimOutOfRange { op, dim, dims: 0 }),
        dims => resolve_dim(op, dim, dims),
    }
}

/// Twice the areas between neighbours.
#[track_caller]
fn areas(op: &'static str, y: &Tensor, points: &Tensor, dim: usize) -> Result<Tensor> {
    let points = match points.dims() {
        1 if points.numel() == y.shape()[dim] => along(points, y.dims(), dim)?,
        1 => {
            let shapes = [("self", y), ("spacing", points)];
            let shapes = shapes.map(|(name, x)| (name, x.layout().shape().clone())).to_vec();
            let rule = "there must be a point for each place of the dimension";
            return Err(Error::ShapeMismatch { op, shapes, rule });
        }
        // Dimensions of size 1 in front, so that `dim` is the same in both.
        dims if dims < y.dims() => {
            let mut shape = vec![1; y.dims() - dims];
            shape.extend_from_slice(points.shape());
            points.reshape(shape)?
        }
        _ => points.clone(),
    };
    let (start, end) = neighbours(&points, dim)?;
    let (before, after) = neighbours(y, dim)?;
    end.sub(&start)?.mul(&before.add(&after)?)
}

/// All elements but the last, and all but the first, along a dimension.
fn neighbours(x: &Tensor, dim: usize) -> Result<(Tensor, Tensor)> {
    let (dim, rest) = (dim as isize, x.size(dim as isize)?.saturating_sub(1));
    Ok((x.narrow(dim, 0, rest)?, x.slice(dim, 1, isize::MAX, 1)?))
}

/// A vector as a tensor that has its elements along one dimension.
pub(super) fn along(vector: &Tensor, dims: usize, dim: usize) -> Result<Tensor> {
    let mut shape = vec![1; dims];
    shape[dim] = vector.numel();
    vector.reshape(shape)
}
