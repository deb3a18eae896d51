//! The bilinear layer.

use tensor::{Tensor, TensorOptions};

use crate::{Forward, Module, Result, init};

/// A bilinear layer: `y = x1 W x2 + b` (`nn.Bilinear`): see [`Tensor::bilinear`].
///
/// The inputs are `[.., in1_features]` and `[.., in2_features]`, and the output `[.., out_features]`.
/// The weight is `[out_features, in1_features, in2_features]` and the bias `[out_features]`.
#[derive(Clone, Debug, Module)]
#[module(extra_repr = Bilinear::sizes)]
pub struct Bilinear {
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Bilinear {
    /// A layer on the default device, with the default dtype, and PyTorch's initial values
    /// ([`init::fan_in_uniform`] of the size of the first input).
    ///
    /// # Errors
    /// Memory is short.
    ///
    /// ```
    /// use nn::{Bilinear, Forward};
    /// use tensor::Tensor;
    /// let inputs = (Tensor::ones([5, 3], ())?, Tensor::ones([5, 4], ())?);
    /// assert_eq!(Bilinear::new(3, 4, 2)?.forward(&inputs)?.shape(), [5, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn new(in1_features: usize, in2_features: usize, out_features: usize) -> Result<Bilinear> {
        Bilinear::new_with(in1_features, in2_features, out_features, ())
    }

    /// A layer on the given device, with the given dtype.
    ///
    /// # Errors
    /// The dtype is no floating one, the device does not exist, or its memory is short.
    #[track_caller]
    pub fn new_with(
        in1_features: usize,
        in2_features: usize,
        out_features: usize,
        options: impl Into<TensorOptions>,
    ) -> Result<Bilinear> {
        let options = options.into();
        let shape = [out_features, in1_features, in2_features];
        let weight = init::fan_in_uniform(&shape, in1_features, options)?;
        let bias = Some(init::fan_in_uniform(&[out_features], in1_features, options)?);
        Ok(Bilinear { weight, bias })
    }

    /// The layer without its bias.
    pub fn without_bias(mut self) -> Bilinear {
        self.bias = None;
        self
    }

    /// The weight, `[out_features, in1_features, in2_features]`.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// The bias, `[out_features]`.
    pub fn bias(&self) -> Option<&Tensor> {
        self.bias.as_ref()
    }

    fn sizes(&self) -> String {
        let size = |dim: usize| self.weight.shape().get(dim).copied().unwrap_or(0);
        let (outputs, first, second) = (size(0), size(1), size(2));
        let bias = if self.bias.is_some() { "True" } else { "False" };
        format!("in1_features={first}, in2_features={second}, out_features={outputs}, bias={bias}")
    }
}

impl Forward<(Tensor, Tensor)> for Bilinear {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, (first, second): &(Tensor, Tensor)) -> Result<Tensor> {
        first.bilinear(second, &self.weight, self.bias.as_ref())
    }
}
