//! Covariances and correlations.

use crate::{DType, Error, Result, Tensor, dispatch};

impl Tensor {
    /// The covariances of the rows, each of which has the observations of one variable (a vector is
    /// one row), over the number of observations less `correction` (1 in PyTorch). `fweights` says
    /// how often each observation was made, `aweights` how much it counts. The host waits for the
    /// smallest weight.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [3.0, 2.0, 0.0]]?;
    /// let covariances = x.cov(1, None, None)?;
    /// assert_eq!(covariances.select(0, 0)?.to_vec::<f32>()?, [1.0, -1.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are more dimensions than two; the dtype is `Bool`; weights are no vector with an entry
    /// for each observation, `fweights` no integers, `aweights` no floats, or one is negative; they
    /// lie on another device.
    #[track_caller]
    pub fn cov(
        &self,
        correction: i64,
        fweights: Option<&Tensor>,
        aweights: Option<&Tensor>,
    ) -> Result<Tensor> {
        const OP: &str = "cov";
        if self.dims() > 2 {
            let shape = self.layout().shape().clone();
            return Err(Error::WrongDims { op: OP, shape, expected: 2 });
        }
        if self.dtype() == DType::Bool {
            let (dtype, device) = (self.dtype(), self.device());
            return Err(Error::UnsupportedDType { op: OP, dtype, device });
        }
        let x = if self.dims() < 2 { self.reshape([1, self.numel()])? } else { self.clone() };
        let observations = x.shape()[1];
        for (name, weights) in [("fweights", fweights), ("aweights", aweights)] {
            weights.map(|weights| expect_weights(OP, &x, name, weights)).transpose()?;
        }
        let weights = match (fweights, aweights) {
            (Some(times), Some(weights)) => Some(times.mul(weights)?),
            (weights, None) | (None, weights) => weights.cloned(),
        };
        let Some(weights) = weights else {
            let centred = x.sub(&x.sum(1)?.true_divide(observations)?.unsqueeze(1)?)?;
            let norm = (observations as f64 - correction as f64).max(0.0);
            return centred.matmul(&centred.t()?)?.true_divide(norm)?.squeeze_all();
        };
        let sum = weights.sum(())?;
        let centred = x.sub(&x.mul(&weights)?.sum(1)?.true_divide(&sum)?.unsqueeze(1)?)?;
        let norm = match aweights {
            // No weight is negative.
            _ if correction == 0 => sum,
            None => sum.sub(correction)?.clamp_min(0)?,
            Some(aweights) => {
                let squares = weights.mul(aweights)?.sum(())?;
                sum.sub(&squares.mul(correction)?.true_divide(&sum)?)?.clamp_min(0)?
            }
        };
        let products = centred.mul(&weights)?.matmul(&centred.t()?)?;
        products.true_divide(&norm)?.squeeze_all()
    }

    /// Pearson's coefficients of correlation of the rows, each of which has the observations of one
    /// variable: [`Tensor::cov`] over the products of the standard deviations.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]?;
    /// let correlations = x.corrcoef()?;
    /// assert!(correlations.allclose(&tensor![[1.0, -1.0], [-1.0, 1.0]]?, 1e-5, 1e-6)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are more dimensions than two; the dtype is `Bool`.
    #[track_caller]
    pub fn corrcoef(&self) -> Result<Tensor> {
        const OP: &str = "corrcoef";
        if self.dims() > 2 {
            let shape = self.layout().shape().clone();
            return Err(Error::WrongDims { op: OP, shape, expected: 2 });
        }
        let covariances = self.cov(1, None, None)?;
        if covariances.dims() == 0 {
            return covariances.div(&covariances);
        }
        let deviations = covariances.diagonal(0, 0, 1)?.sqrt()?;
        let scaled = covariances.div(&deviations.unsqueeze(1)?)?;
        // Rounding may lead beyond the bounds.
        scaled.div(&deviations.unsqueeze(0)?)?.clamp(-1, 1)
    }
}

/// Checks weights of the columns of a matrix.
#[track_caller]
fn expect_weights(
    op: &'static str,
    x: &Tensor,
    argument: &'static str,
    weights: &Tensor,
) -> Result<()> {
    dispatch::same_device(op, &[("self", x), (argument, weights)])?;
    if weights.dims() > 1 || weights.numel() != x.shape()[1] {
        let shapes = [("self", x), (argument, weights)];
        let shapes = shapes.map(|(name, x)| (name, x.layout().shape().clone())).to_vec();
        let rule = "weights are a vector with one for each observation";
        return Err(Error::ShapeMismatch { op, shapes, rule });
    }
    let (fits, rule) = match argument {
        "fweights" => (weights.dtype().is_integer(), "numbers of times are integers"),
        _ => (weights.dtype().is_float(), "weights are floats"),
    };
    if !fits {
        let arguments = vec![(argument, weights.dtype())];
        return Err(Error::DTypeMismatch { op, arguments, rule });
    }
    if weights.numel() > 0 && weights.detach().lt(0)?.any(())?.item::<bool>()? {
        let why = "weights are not negative";
        let value = "a tensor with negative numbers".to_owned();
        return Err(Error::InvalidArgument { op, argument, value, why });
    }
    Ok(())
}
