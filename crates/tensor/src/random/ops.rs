//! Methods that overwrite a tensor with random numbers.

use super::distribute;
use crate::autograd::InPlace;
use crate::{Error, Result, Tensor};

impl Tensor {
    /// Overwrites the tensor with uniform random numbers in [low, high), drawn from the
    /// [generator](crate::generator) of its device, and gives the same handle. On CUDA the work is
    /// enqueued.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::empty([100], ())?.uniform_(-1.0, 1.0)?;
    /// assert!(x.abs()?.max()?.item::<f32>()? <= 1.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating-point one, a bound is not finite, `low` is above `high`, or the
    /// tensor requires gradients and grad mode is on.
    #[track_caller]
    pub fn uniform_(&self, low: f64, high: f64) -> Result<Tensor> {
        const OP: &str = "uniform_";
        let finite = low.is_finite() && high.is_finite();
        expect(OP, "low", low, finite && low <= high, "both must be finite, and low <= high")?;
        self.overwrite(OP, || distribute::uniform(self, low, high))
    }

    /// Overwrites the tensor with normal random numbers of the given mean and standard deviation.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::empty([10_000], ())?.normal_(5.0, 0.1)?;
    /// assert!((x.mean(())?.item::<f32>()? - 5.0).abs() < 0.01);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating-point one, the deviation is negative, or the tensor requires
    /// gradients and grad mode is on.
    #[track_caller]
    pub fn normal_(&self, mean: f64, deviation: f64) -> Result<Tensor> {
        const OP: &str = "normal_";
        expect(OP, "deviation", deviation, deviation >= 0.0, "it must not be negative")?;
        self.overwrite(OP, || distribute::normal(self, mean, deviation))
    }

    /// Overwrites the tensor with exponentially distributed random numbers of a rate: their mean is
    /// `1 / rate`.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::empty([10_000], ())?.exponential_(2.0)?;
    /// assert!((x.mean(())?.item::<f32>()? - 0.5).abs() < 0.05);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating-point one, the rate is not above 0, or the tensor requires
    /// gradients and grad mode is on.
    #[track_caller]
    pub fn exponential_(&self, rate: f64) -> Result<Tensor> {
        const OP: &str = "exponential_";
        expect(OP, "rate", rate, rate > 0.0, "it must be above 0")?;
        self.overwrite(OP, || distribute::exponential(self, rate))
    }

    /// Overwrites the tensor with random whole numbers in [low, high).
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::empty([100], DType::I64)?.random_(3, 5)?;
    /// assert!(x.min()?.item::<i64>()? >= 3 && x.max()?.item::<i64>()? < 5);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no number in the range, not all fit the dtype, or the tensor requires gradients and
    /// grad mode is on.
    #[track_caller]
    pub fn random_(&self, low: i64, high: i64) -> Result<Tensor> {
        const OP: &str = "random_";
        distribute::check_integers(OP, low, high, self.dtype())?;
        self.overwrite(OP, || distribute::integers(self, low, high))
    }

    /// Overwrites each element with 1, with the given probability, or else with 0.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::empty([10_000], ())?.bernoulli_(0.25)?;
    /// assert!((x.mean(())?.item::<f32>()? - 0.25).abs() < 0.05);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The probability is not in [0, 1], or the tensor requires gradients and grad mode is on.
    #[track_caller]
    pub fn bernoulli_(&self, probability: f64) -> Result<Tensor> {
        const OP: &str = "bernoulli_";
        let valid = (0.0..=1.0).contains(&probability);
        expect(OP, "probability", probability, valid, "it must lie in [0, 1]")?;
        self.overwrite(OP, || distribute::bernoulli(self, probability))
    }

    #[track_caller]
    fn overwrite(&self, op: &'static str, fill: impl FnOnce() -> Result<()>) -> Result<Tensor> {
        let write = InPlace::begin(op, self, &[])?;
        fill()?;
        Ok(write.finish_constant())
    }
}

/// # Errors
/// The argument does not hold what it must.
pub(crate) fn expect(
    op: &'static str,
    argument: &'static str,
    value: f64,
    holds: bool,
    why: &'static str,
) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::InvalidArgument { op, argument, value: value.to_string(), why })
}
