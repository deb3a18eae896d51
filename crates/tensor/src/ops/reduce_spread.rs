//! Variances and standard deviations.

use std::panic::Location;

use gpu_runtime::at_place;

use super::reduce::Folded;
use super::scan::widened;
use crate::autograd::record;
use crate::{Result, Tensor, no_grad};

/// The spread of the elements over some dimensions (all, if the list is empty): the sum of the
/// squared distances from the mean, divided by their number less `correction` (1 for a sample, 0
/// for a whole population, or another number). Halves are computed in `F32` and rounded once.
///
/// All fail for other dtypes than floats, and if a dimension does not exist or is given twice.
impl Tensor {
    /// The variances over some dimensions.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.var(&[0], 1, false)?.item::<f32>()?, 1.0);
    /// assert_eq!(x.var(&[0], -1, false)?.item::<f32>()?, 0.5);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn var(&self, dims: &[isize], correction: impl Into<f64>, keepdim: bool) -> Result<Tensor> {
        let spread = Spread::new("var", self, dims, correction.into(), keepdim)?;
        let compute = || spread.variance(self)?.to(self.dtype());
        let output = at_place(Location::caller(), || no_grad(compute))?;
        Ok(record(spread.op, [self], output, |saving| {
            let x = saving.save(self);
            move |grad: &Tensor, _| Ok([Some(spread.gradient(&x.get()?, grad)?)])
        }))
    }

    /// The standard deviations over some dimensions: the square roots of [`Tensor::var`]. The
    /// gradient of a standard deviation that is 0 is 0.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 5.0], [2.0, 2.0]]?;
    /// assert_eq!(x.std(&[1], 0, false)?.to_vec::<f32>()?, [2.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn std(&self, dims: &[isize], correction: impl Into<f64>, keepdim: bool) -> Result<Tensor> {
        let spread = Spread::new("std", self, dims, correction.into(), keepdim)?;
        let compute = || spread.variance(self)?.sqrt()?.to(self.dtype());
        let output = at_place(Location::caller(), || no_grad(compute))?;
        Ok(record(spread.op, [self], output, |saving| {
            let (x, output) = (saving.save(self), saving.save_output());
            move |grad: &Tensor, _| {
                let deviation = output.get()?;
                let of_variance = grad.div(&deviation.mul(2)?)?;
                let of_variance = of_variance.masked_fill(&deviation.eq(0)?, 0)?;
                Ok([Some(spread.gradient(&x.get()?, &of_variance)?)])
            }
        }))
    }

    /// The variances and the means over some dimensions.
    #[track_caller]
    pub fn var_mean(
        &self,
        dims: &[isize],
        correction: impl Into<f64>,
        keepdim: bool,
    ) -> Result<(Tensor, Tensor)> {
        Ok((self.var(dims, correction, keepdim)?, self.mean_dims(dims, keepdim)?))
    }

    /// The standard deviations and the means over some dimensions.
    #[track_caller]
    pub fn std_mean(
        &self,
        dims: &[isize],
        correction: impl Into<f64>,
        keepdim: bool,
    ) -> Result<(Tensor, Tensor)> {
        Ok((self.std(dims, correction, keepdim)?, self.mean_dims(dims, keepdim)?))
    }
}

/// The elements whose spread is asked for.
struct Spread {
    op: &'static str,
    folded: Folded,
    /// The number of elements, less the correction.
    degrees: f64,
    /// Whether all elements are folded, without a list of dimensions.
    is_whole: bool,
}

impl Spread {
    fn new(
        op: &'static str,
        x: &Tensor,
        dims: &[isize],
        correction: f64,
        keepdim: bool,
    ) -> Result<Spread> {
        x.expect_floats(op)?;
        let folded = Folded::new(op, x, dims, keepdim)?;
        let degrees = folded.count(x.shape()) as f64 - correction;
        let is_whole = dims.is_empty();
        Ok(Spread { op, folded, degrees, is_whole })
    }

    /// The distances from the mean, in a dtype whose squares do not overflow.
    #[track_caller]
    fn distance(&self, x: &Tensor) -> Result<Tensor> {
        let x = widened(x)?;
        x.sub(&x.mean_dims(&self.folded.signed(), true)?)
    }

    #[track_caller]
    fn variance(&self, x: &Tensor) -> Result<Tensor> {
        let squares = self.distance(x)?.square()?;
        let sums = squares.sum_dims(&self.folded.signed(), self.folded.keepdim)?;
        sums.div(self.degrees.max(0.0))
    }

    #[track_caller]
    fn gradient(&self, x: &Tensor, grad: &Tensor) -> Result<Tensor> {
        let distance = self.distance(x)?;
        let grad = self.folded.restore(grad)?;
        if self.is_whole && self.degrees <= 0.0 {
            // As in PyTorch: the variance is infinite, or NaN where nothing differs.
            let slopes = distance.ne(0)?.to(distance.dtype())?.mul(f64::INFINITY)?;
            return grad.mul(&slopes);
        }
        grad.mul(2.0 / self.degrees)?.mul(&distance)
    }
}
