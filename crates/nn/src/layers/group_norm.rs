//! Group normalisation.

use tensor::{Tensor, TensorOptions};

use crate::error::LayerError;
use crate::fields::{ExtraRepr, Field};
use crate::{Forward, Module, Result};

/// Group normalisation of `[batch, channels, ..]` (`nn.GroupNorm`): see [`Tensor::group_norm`].
/// Y. Wu, K. He, "Group Normalization" (ECCV 2018).
///
/// Weight and bias, `[channels]`, begin as ones and zeros.
#[derive(Clone, Debug, Module)]
#[module(extra_repr = GroupNorm::options)]
pub struct GroupNorm {
    weight: Option<Tensor>,
    bias: Option<Tensor>,
    num_groups: usize,
    num_channels: usize,
    eps: f64,
}

impl GroupNorm {
    /// A layer on the default device, with the default dtype, and an `eps` of `1e-5`.
    ///
    /// # Errors
    /// Memory is short.
    ///
    /// ```
    /// use nn::{Forward, GroupNorm};
    /// use tensor::tensor;
    /// let normal = GroupNorm::new(2, 4)?.forward(&tensor![[1.0, 3.0, -5.0, 5.0]]?)?;
    /// assert!(normal.allclose(&tensor![[-1.0, 1.0, -1.0, 1.0]]?, 1e-4, 0.0)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn new(num_groups: usize, num_channels: usize) -> Result<GroupNorm> {
        GroupNorm::new_with(num_groups, num_channels, ())
    }

    /// A layer on the given device, with the given dtype.
    ///
    /// # Errors
    /// The dtype is no floating one, the device does not exist, or its memory is short.
    #[track_caller]
    pub fn new_with(
        num_groups: usize,
        num_channels: usize,
        options: impl Into<TensorOptions>,
    ) -> Result<GroupNorm> {
        let options = options.into().requires_grad(true);
        let weight = Some(Tensor::ones([num_channels], options)?);
        let bias = Some(Tensor::zeros([num_channels], options)?);
        Ok(GroupNorm { weight, bias, num_groups, num_channels, eps: 1e-5 })
    }

    /// The layer with another `eps`, which is added to variances.
    pub fn with_eps(mut self, eps: f64) -> GroupNorm {
        self.eps = eps;
        self
    }

    /// The layer without weight and bias.
    pub fn without_affine(mut self) -> GroupNorm {
        (self.weight, self.bias) = (None, None);
        self
    }

    /// The layer without its bias.
    pub fn without_bias(mut self) -> GroupNorm {
        self.bias = None;
        self
    }

    /// The factors of the channels.
    pub fn weight(&self) -> Option<&Tensor> {
        self.weight.as_ref()
    }

    /// The numbers that are added to the channels.
    pub fn bias(&self) -> Option<&Tensor> {
        self.bias.as_ref()
    }

    fn options(&self) -> String {
        let mut extra = ExtraRepr::new();
        self.num_groups.describe("0", &mut extra);
        self.num_channels.describe("1", &mut extra);
        self.eps.describe("eps", &mut extra);
        self.weight.is_some().describe("affine", &mut extra);
        extra.to_string()
    }
}

impl Forward for GroupNorm {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let (weight, bias) = (self.weight.as_ref(), self.bias.as_ref());
        let output = input.group_norm(self.num_groups, weight, bias, self.eps);
        output.map_err(|error| match weight {
            Some(weight) => {
                let expected = format!("{} channels", self.num_channels);
                LayerError::explain(error, || self.to_string(), weight, input, Some(expected))
            }
            None => error,
        })
    }
}
