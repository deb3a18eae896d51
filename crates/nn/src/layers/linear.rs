//! The linear layer.

use tensor::{Tensor, TensorOptions};

use crate::{Module, Result, init};

/// A linear layer: `y = x Wᵀ + b`, applied to the last dimension.
///
/// The input is `[.., in_features]` and the output `[.., out_features]`. The weight is
/// `[out_features, in_features]` and the bias `[out_features]`, as in PyTorch. `forward` fails if
/// the input has another last size, dtype or device than the weight.
#[derive(Clone, Debug)]
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
    /// use nn::{Linear, Module};
    /// use tensor::Tensor;
    /// let layer = Linear::new(3, 2)?;
    /// assert_eq!(layer.forward(&Tensor::ones([5, 3], ())?)?.shape(), [5, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn new(in_features: usize, out_features: usize) -> Result<Linear> {
        Linear::new_with(in_features, out_features, ())
    }

    /// A layer on the given device, with the given dtype.
    ///
    /// # Errors
    /// The dtype is no floating one, the device does not exist, or its memory is short.
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
}

impl Module for Linear {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let product = input.matmul(&self.weight.t()?)?;
        match &self.bias {
            Some(bias) => &product + bias,
            None => Ok(product),
        }
    }

    fn visit(&self, visitor: &mut dyn FnMut(&str, &Tensor)) {
        visitor("weight", &self.weight);
        if let Some(bias) = &self.bias {
            visitor("bias", bias);
        }
    }

    fn visit_mut(
        &mut self,
        visitor: &mut dyn FnMut(&str, &mut Tensor) -> Result<()>,
    ) -> Result<()> {
        visitor("weight", &mut self.weight)?;
        self.bias.as_mut().map_or(Ok(()), |bias| visitor("bias", bias))
    }
}
