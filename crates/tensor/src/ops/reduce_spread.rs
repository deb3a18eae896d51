//! Variances and standard deviations.

use std::panic::Location;

use gpu_runtime::at_place;

use super::reduce::Folded;
use super::scan::widened;
use crate::autograd::record;
use crate::dispatch::{self, SpreadForm};
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
        let [output, _] = spread.with_mean(SpreadForm::Variance, self)?;
        Ok(spread.record_variance(self, output))
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
        let [output, _] = spread.with_mean(SpreadForm::Deviation, self)?;
        Ok(spread.record_deviation(self, output))
    }

    /// The variances and the means over some dimensions.
    #[track_caller]
    pub fn var_mean(
        &self,
        dims: &[isize],
        correction: impl Into<f64>,
        keepdim: bool,
    ) -> Result<(Tensor, Tensor)> {
        let spread = Spread::new("var", self, dims, correction.into(), keepdim)?;
        let [output, mean] = spread.with_mean(SpreadForm::Variance, self)?;
        let mean = spread.folded.clone().record_mean(self, mean);
        Ok((spread.record_variance(self, output), mean))
    }

    /// The standard deviations and the means over some dimensions.
    #[track_caller]
    pub fn std_mean(
        &self,
        dims: &[isize],
        correction: impl Into<f64>,
        keepdim: bool,
    ) -> Result<(Tensor, Tensor)> {
        let spread = Spread::new("std", self, dims, correction.into(), keepdim)?;
        let [output, mean] = spread.with_mean(SpreadForm::Deviation, self)?;
        let mean = spread.folded.clone().record_mean(self, mean);
        Ok((spread.record_deviation(self, output), mean))
    }
}

/// The elements whose spread is asked for.
struct Spread {
    op: &'static str,
    folded: Folded,
    correction: f64,
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
        Ok(Spread { op, folded, correction, degrees, is_whole })
    }

    /// The spread and the mean, without history: in one pass over memory on the CPU, unless elements
    /// are repeated there.
    #[track_caller]
    fn with_mean(&self, form: SpreadForm, x: &Tensor) -> Result<[Tensor; 2]> {
        let compute = || {
            if !x.is_cuda() && !x.layout().overlaps_itself() {
                let how = (self.correction, self.folded.keepdim);
                return dispatch::spread_and_mean(self.op, form, x, self.folded.dims(), how);
            }
            let variance = self.variance(x)?;
            let spread = match form {
                SpreadForm::Variance => variance,
                SpreadForm::Deviation => variance.sqrt()?,
            };
            let mean = x.mean_dims(&self.folded.signed(), self.folded.keepdim)?;
            Ok([spread.to(x.dtype())?, mean])
        };
        at_place(Location::caller(), || no_grad(compute))
    }

    #[track_caller]
    fn record_variance(self, x: &Tensor, output: Tensor) -> Tensor {
        record(self.op, [x], output, |saving| {
            let x = saving.save(x);
            move |grad: &Tensor, _| Ok([Some(self.gradient(&x.get()?, grad)?)])
        })
    }

    #[track_caller]
    fn record_deviation(self, x: &Tensor, output: Tensor) -> Tensor {
        record(self.op, [x], output, |saving| {
            let (x, output) = (saving.save(x), saving.save_output());
            move |grad: &Tensor, _| {
                let deviation = output.get()?;
                let of_variance = grad.div(&deviation.mul(2)?)?;
                let of_variance = of_variance.masked_fill(&deviation.eq(0)?, 0)?;
                Ok([Some(self.gradient(&x.get()?, &of_variance)?)])
            }
        })
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
