//! Batch normalisation.

use super::channels::{ChannelGroups, ChannelMoments, ChannelNorm, ChannelOperands, as_channels};
use super::parameters::{expect_channels, expect_several};
use crate::{Error, Result, Tensor, no_grad};

impl Tensor {
    /// Batch normalisation of `[batch, channels, ..]`: brings each channel to mean 0 and variance 1,
    /// and applies `weight * x + bias`, with a number of each for a channel.
    ///
    /// In training, mean and variance are those of the batch, and `running`, the running mean and
    /// variance, are moved towards them in place by the share `momentum` (0.1 in PyTorch; the
    /// variance as that of a sample). Else the running ones are used, as constants. `epsilon` is
    /// added to the variance (1e-5 in PyTorch). Halves are computed in `F32`.
    ///
    /// S. Ioffe, C. Szegedy: "Batch Normalization" (ICML 2015).
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let x = tensor![[1.0, 10.0], [3.0, 30.0]]?;
    /// let (mean, variance) = (Tensor::zeros([2], ())?, Tensor::ones([2], ())?);
    /// let y = x.batch_norm(Some((&mean, &variance)), None, None, true, 0.5, 0.0)?;
    /// assert!(y.allclose(&tensor![[-1.0, -1.0], [1.0, 1.0]]?, 1e-5, 0.0)?);
    /// assert_eq!(mean.to_vec::<f32>()?, [1.0, 10.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no channels; a parameter has another shape, lies on another device, or is of another
    /// dtype than the tensor and not `F32` beside halves; the tensor is of no floats; in training
    /// there is one value for each channel only, else there are no running statistics.
    #[track_caller]
    pub fn batch_norm(
        &self,
        running: Option<(&Tensor, &Tensor)>,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        training: bool,
        momentum: f64,
        epsilon: f64,
    ) -> Result<Tensor> {
        const OP: &str = "batch_norm";
        if self.numel() == 0 && self.dims() < 2 {
            // As in PyTorch, where nothing is normalised whatever the parameters are.
            self.expect_floats(OP)?;
            return self.clone_data();
        }
        let channels = expect(OP, self, running, [weight, bias])?;
        let operands = ChannelOperands { x: self, weight, bias };
        let norm = ChannelNorm { op: OP, groups: ChannelGroups::OverBatch, epsilon };
        if !training {
            return norm.apply(operands, Some(given(OP, running)?)).map(|(output, _)| output);
        }
        let count = self.numel().checked_div(channels).unwrap_or(0);
        expect_several(OP, self, count)?;
        let (output, moments) = norm.apply(operands, None)?;
        update(running, &moments, count, momentum)?;
        Ok(output)
    }

    /// Instance normalisation of `[batch, channels, ..]`: as [`Tensor::batch_norm`], with mean and
    /// variance of each channel of each sample. `use_input_stats` is what `training` is there.
    ///
    /// D. Ulyanov, A. Vedaldi, V. Lempitsky: "Instance Normalization" (2016).
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[[1.0, 3.0], [10.0, 30.0]]]?;
    /// let y = x.instance_norm(None, None, None, true, 0.1, 0.0)?;
    /// assert!(y.allclose(&tensor![[[-1.0, 1.0], [-1.0, 1.0]]]?, 1e-5, 0.0)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::batch_norm`].
    #[track_caller]
    pub fn instance_norm(
        &self,
        running: Option<(&Tensor, &Tensor)>,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        use_input_stats: bool,
        momentum: f64,
        epsilon: f64,
    ) -> Result<Tensor> {
        const OP: &str = "instance_norm";
        let channels = expect(OP, self, running, [weight, bias])?;
        let operands = ChannelOperands { x: self, weight, bias };
        let groups = ChannelGroups::OfSample(channels);
        let norm = ChannelNorm { op: OP, groups, epsilon };
        if !use_input_stats {
            return norm.apply(operands, Some(given(OP, running)?)).map(|(output, _)| output);
        }
        let count = self.shape()[2..].iter().product();
        expect_several(OP, self, count)?;
        let (output, moments) = norm.apply(operands, None)?;
        update(running, &moments, count, momentum)?;
        Ok(output)
    }
}

fn expect(
    op: &'static str,
    x: &Tensor,
    running: Option<(&Tensor, &Tensor)>,
    [weight, bias]: [Option<&Tensor>; 2],
) -> Result<usize> {
    let channels = expect_channels(op, x, &[("weight", weight), ("bias", bias)])?;
    let (mean, variance) = running.unzip();
    expect_channels(op, x, &[("running_mean", mean), ("running_var", variance)]).map(|_| channels)
}

/// The running statistics as the moments of all samples.
#[track_caller]
fn given(op: &'static str, running: Option<(&Tensor, &Tensor)>) -> Result<ChannelMoments> {
    let Some((mean, variance)) = running else {
        let value = "None".to_owned();
        let why = "without the statistics of the input, running ones are needed";
        return Err(Error::InvalidArgument { op, argument: "running", value, why });
    };
    let of_all = |x: &Tensor| as_channels(&x.detach());
    Ok(ChannelMoments { mean: of_all(mean)?, variance: of_all(variance)? })
}

/// Moves the running statistics towards the moments, of which each is of `count` elements.
#[track_caller]
fn update(
    running: Option<(&Tensor, &Tensor)>,
    moments: &ChannelMoments,
    count: usize,
    momentum: f64,
) -> Result<()> {
    let Some((mean, variance)) = running.filter(|_| count > 0) else { return Ok(()) };
    let of_sample = count as f64 / (count as f64 - 1.0);
    let step = |running: &Tensor, moment: &Tensor, factor: f64| {
        let moment = moment.mean((0, 2))?.mul(factor)?.to(running.dtype())?;
        running.lerp_(&moment, momentum)
    };
    no_grad(|| {
        step(mean, &moments.mean, 1.0)?;
        step(variance, &moments.variance, of_sample).map(drop)
    })
}
