//! Variances and standard deviations.

use std::panic::Location;
use std::sync::LazyLock;

use gpu_runtime::at_place;

use super::pointwise::Pointwise;
use super::reduce::Folded;
use super::scan::widened;
use crate::autograd::record;
use crate::dims::ReduceDims;
use crate::dispatch::{self, SpreadForm};
use crate::resolved_device::ResolvedDevice;
use crate::{FusedMany, Result, Tensor, fuse_many, no_grad};

static SQUARED_DISTANCE: Pointwise<2> = Pointwise::common("var", |[x, mean]| (x - mean).square());

/// Variances of sums of squared distances, and the means: in memory of their own, since whoever keeps
/// one of them should not keep the moments that they are made of, too.
static VARIANCE: LazyLock<FusedMany<3, 2>> =
    LazyLock::new(|| fuse_many(|[squares, mean, degrees]| [squares / degrees, mean]).named("var"));
static DEVIATION: LazyLock<FusedMany<3, 2>> = LazyLock::new(|| {
    fuse_many(|[squares, mean, degrees]| [(squares / degrees).sqrt(), mean]).named("std")
});

/// The spread of the elements over some dimensions, or over all (see [`ReduceDims`]): the sum of the
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
    /// assert_eq!(x.var(0, 1)?.item::<f32>()?, 1.0);
    /// assert_eq!(x.var(0, -1)?.item::<f32>()?, 0.5);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn var(&self, dims: impl Into<ReduceDims>, correction: impl Into<f64>) -> Result<Tensor> {
        Spread::new(SpreadForm::Variance, self, &dims.into(), correction.into())?.of(self)
    }

    /// The standard deviations over some dimensions: the square roots of [`Tensor::var`]. The
    /// gradient of a standard deviation that is 0 is 0.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 5.0], [2.0, 2.0]]?;
    /// assert_eq!(x.std(1, 0)?.to_vec::<f32>()?, [2.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn std(&self, dims: impl Into<ReduceDims>, correction: impl Into<f64>) -> Result<Tensor> {
        Spread::new(SpreadForm::Deviation, self, &dims.into(), correction.into())?.of(self)
    }

    /// The variances and the means over some dimensions.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (variance, mean) = tensor![1.0, 2.0, 3.0, 6.0]?.var_mean((), 0)?;
    /// assert_eq!((variance.item::<f32>()?, mean.item::<f32>()?), (3.5, 3.0));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn var_mean(
        &self,
        dims: impl Into<ReduceDims>,
        correction: impl Into<f64>,
    ) -> Result<(Tensor, Tensor)> {
        Spread::new(SpreadForm::Variance, self, &dims.into(), correction.into())?.with_mean_of(self)
    }

    /// The standard deviations and the means over some dimensions.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (deviation, mean) = tensor![1.0, 3.0]?.std_mean((), 0)?;
    /// assert_eq!((deviation.item::<f32>()?, mean.item::<f32>()?), (1.0, 2.0));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn std_mean(
        &self,
        dims: impl Into<ReduceDims>,
        correction: impl Into<f64>,
    ) -> Result<(Tensor, Tensor)> {
        Spread::new(SpreadForm::Deviation, self, &dims.into(), correction.into())?
            .with_mean_of(self)
    }
}

/// The spread that is asked for, and of which elements.
struct Spread {
    op: &'static str,
    form: SpreadForm,
    folded: Folded,
    correction: f64,
    /// The number of elements, less the correction.
    degrees: f64,
    /// Whether all elements are folded, without a list of dimensions.
    is_whole: bool,
}

impl Spread {
    fn new(form: SpreadForm, x: &Tensor, dims: &ReduceDims, correction: f64) -> Result<Spread> {
        let op = match form {
            SpreadForm::Variance => "var",
            SpreadForm::Deviation => "std",
        };
        x.expect_floats(op)?;
        let folded = Folded::new(op, x, dims)?;
        let degrees = folded.count(x.shape()) as f64 - correction;
        let is_whole = dims.dims.is_empty();
        Ok(Spread { op, form, folded, correction, degrees, is_whole })
    }

    /// The spread.
    #[track_caller]
    fn of(self, x: &Tensor) -> Result<Tensor> {
        let compute = || match self.in_one_pass(x) {
            Some(both) => both.map(|[output, _]| output),
            None => self.composed(x),
        };
        let output = at_place(Location::caller(), || no_grad(compute))?;
        Ok(self.record(x, output))
    }

    /// The spread and the mean.
    #[track_caller]
    fn with_mean_of(self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let compute = || match self.in_one_pass(x) {
            Some(both) => both,
            None => {
                let mean = x.mean(self.folded.given())?;
                Ok([self.composed(x)?, mean])
            }
        };
        let [output, mean] = at_place(Location::caller(), || no_grad(compute))?;
        let mean = self.folded.clone().record_mean(x, mean);
        Ok((self.record(x, output), mean))
    }

    /// The spread and the mean, without history, in one pass over memory, unless elements are
    /// repeated.
    #[track_caller]
    fn in_one_pass(&self, x: &Tensor) -> Option<Result<[Tensor; 2]>> {
        let is_one = !x.layout().overlaps_itself();
        let (dims, keepdim) = (self.folded.dims(), self.folded.keepdim);
        is_one.then(|| match x.resolved_device() {
            ResolvedDevice::Cpu => {
                dispatch::spread_and_mean(self.op, self.form, x, dims, (self.correction, keepdim))
            }
            ResolvedDevice::Cuda(device) => {
                let [mean, squares] = dispatch::moments(x, device, dims, keepdim)?;
                let finish = match self.form {
                    SpreadForm::Variance => &VARIANCE,
                    SpreadForm::Deviation => &DEVIATION,
                };
                let [spread, mean] = finish.call((&squares, &mean, self.degrees.max(0.0)))?;
                Ok([spread.to(x.dtype())?, mean.to(x.dtype())?])
            }
        })
    }

    /// The spread, without history, of other operations.
    #[track_caller]
    fn composed(&self, x: &Tensor) -> Result<Tensor> {
        let variance = self.variance(x)?;
        match self.form {
            SpreadForm::Variance => variance,
            SpreadForm::Deviation => variance.sqrt()?,
        }
        .to(x.dtype())
    }

    #[track_caller]
    fn record(self, x: &Tensor, output: Tensor) -> Tensor {
        match self.form {
            SpreadForm::Variance => self.record_variance(x, output),
            SpreadForm::Deviation => self.record_deviation(x, output),
        }
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
        x.sub(&x.mean(self.folded.kept())?)
    }

    #[track_caller]
    fn variance(&self, x: &Tensor) -> Result<Tensor> {
        let x = widened(x)?;
        let mean = x.mean(self.folded.kept())?;
        let squares = SQUARED_DISTANCE.apply([(&x).into(), (&mean).into()])?;
        let sums = squares.sum(self.folded.given())?;
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
