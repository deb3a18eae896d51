//! The linear layer.

use tensor::{Error, Tensor, TensorOptions};

use crate::error::LayerError;
use crate::{Forward, Module, Result, init};

/// A linear layer: `y = x Wᵀ + b`, applied to the last dimension.
///
/// The input is `[.., in_features]` and the output `[.., out_features]`. The weight is
/// `[out_features, in_features]` and the bias `[out_features]`, as in PyTorch. `forward` fails if
/// the input has another last size, dtype or device than the weight.
#[derive(Clone, Debug, Module)]
#[module(extra_repr = Linear::sizes)]
pub struct Linear {
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Linear {
    /// A layer on the default device, with the default dtype, and PyTorch's initial values
    /// ([`init::fan_in_uniform`]).
    ///
    /// # Errors
    /// Memory is short.
    ///
    /// ```
    /// use nn::{Forward, Linear};
    /// use tensor::Tensor;
    /// let layer = Linear::new(3, 2)?;
    /// assert_eq!(layer.forward(&Tensor::ones([5, 3], ())?)?.shape(), [5, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn new(in_features: usize, out_features: usize) -> Result<Linear> {
        Linear::new_with(in_features, out_features, ())
    }

    /// A layer on the given device, with the given dtype.
    ///
    /// # Errors
    /// The dtype is no floating one, the device does not exist, or its memory is short.
    #[track_caller]
    pub fn new_with(
        in_features: usize,
        out_features: usize,
        options: impl Into<TensorOptions>,
    ) -> Result<Linear> {
        let options = options.into();
        let shape = [out_features, in_features];
        let weight = init::fan_in_uniform(&shape, in_features, options)?;
        let bias = init::fan_in_uniform(&[out_features], in_features, options)?;
        Ok(Linear { weight, bias: Some(bias) })
    }

    /// A layer of given parameters, like the weight of another layer, which the two then share.
    ///
    /// # Errors
    /// The weight is no matrix, or the bias does not have one number for each of its rows.
    ///
    /// ```
    /// use nn::Linear;
    /// let encoder = Linear::new(3, 3)?;
    /// let decoder = Linear::from_parameters(encoder.weight().clone(), None)?;
    /// assert_eq!(decoder.weight().id(), encoder.weight().id());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn from_parameters(weight: Tensor, bias: Option<Tensor>) -> Result<Linear> {
        let refused = |argument, tensor: &Tensor, why| {
            let value = format!("a tensor of shape {:?}", tensor.shape());
            Err(Error::InvalidArgument { op: "Linear", argument, value, why })
        };
        if weight.dims() != 2 {
            return refused("weight", &weight, "it must be [out_features, in_features]");
        }
        match &bias {
            Some(bias) if bias.shape() != &weight.shape()[..1] => {
                refused("bias", bias, "it must be [out_features], as the weight has rows")
            }
            _ => Ok(Linear { weight, bias }),
        }
    }

    /// The layer without its bias.
    pub fn without_bias(mut self) -> Linear {
        self.bias = None;
        self
    }

    /// The weight, `[out_features, in_features]`.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// The bias, `[out_features]`.
    pub fn bias(&self) -> Option<&Tensor> {
        self.bias.as_ref()
    }

    /// The size of the last dimension of inputs.
    pub fn in_features(&self) -> usize {
        self.weight.shape().last().copied().unwrap_or(0)
    }

    /// The size of the last dimension of outputs.
    pub fn out_features(&self) -> usize {
        self.weight.shape().first().copied().unwrap_or(0)
    }

    fn sizes(&self) -> String {
        let bias = if self.bias.is_some() { "True" } else { "False" };
        let (inputs, outputs) = (self.in_features(), self.out_features());
        format!("in_features={inputs}, out_features={outputs}, bias={bias}")
    }

    /// The error as one of this layer, if its input is what does not fit.
    fn explain(&self, error: Error, input: &Tensor) -> Error {
        let layer = || format!("Linear({}, {})", self.in_features(), self.out_features());
        let is_misshapen = input.shape().last() != Some(&self.in_features());
        let expected = format!("in_features = {}", self.in_features());
        LayerError::explain(error, layer, &self.weight, input, is_misshapen.then_some(expected))
    }
}

impl Forward for Linear {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        match input.linear(&self.weight, self.bias.as_ref()) {
            Ok(output) => Ok(output),
            Err(error) => Err(self.explain(error, input)),
        }
    }
}
