//! Group normalisation.

use super::channels::{ChannelGroups, ChannelNorm, ChannelOperands};
use super::parameters::{expect_channels, expect_several};
use crate::ops::autocast;
use crate::{Error, Result, Tensor};

impl Tensor {
    /// Group normalisation of `[batch, channels, ..]`: brings each of `num_groups` groups of
    /// neighbouring channels of a sample to mean 0 and variance 1, and applies `weight * x + bias`,
    /// with a number of each for a channel. `epsilon` is added to the variance (1e-5 in PyTorch).
    /// Halves are computed in `F32`.
    ///
    /// Y. Wu, K. He: "Group Normalization" (ECCV 2018).
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 3.0, 10.0, 30.0]]?;
    /// let y = x.group_norm(2, None, None, 0.0)?;
    /// assert!(y.allclose(&tensor![[-1.0, 1.0, -1.0, 1.0]]?, 1e-5, 0.0)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no channels, or their number cannot be divided by `num_groups`; a parameter has
    /// another shape, lies on another device, or is of another dtype than the tensor and not `F32`
    /// beside halves; the tensor is of no floats, or there is one value for each group only.
    #[track_caller]
    pub fn group_norm(
        &self,
        num_groups: usize,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        epsilon: f64,
    ) -> Result<Tensor> {
        const OP: &str = "group_norm";
        let channels = expect_channels(OP, self, &[("weight", weight), ("bias", bias)])?;
        if channels.checked_rem(num_groups) != Some(0) {
            let value = format!("{num_groups} of {channels} channels");
            let why = "the number of channels must be a multiple of it";
            return Err(Error::InvalidArgument { op: OP, argument: "num_groups", value, why });
        }
        if self.shape()[1..].contains(&0) {
            let shapes = vec![("self", self.layout().shape().clone())];
            let rule = "there must be channels with elements";
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
        expect_several(OP, self, self.numel() / num_groups)?;
        let groups = ChannelGroups::OfSample(num_groups);
        let norm = ChannelNorm { op: OP, groups, epsilon };
        let cast = autocast(OP, [self])?;
        let [x] = cast.operands();
        let (weight, bias) = (cast.optional(weight)?, cast.optional(bias)?);
        let (weight, bias) = (weight.as_deref(), bias.as_deref());
        norm.apply(ChannelOperands { x, weight, bias }, None).map(|(output, _)| output)
    }
}
