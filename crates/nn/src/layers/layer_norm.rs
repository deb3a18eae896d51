//! Layer normalisation.

use tensor::{Error, Shape, Tensor, TensorOptions};

use crate::error::LayerError;
use crate::fields::{ExtraRepr, Field};
use crate::{Forward, Module, Result};

/// Layer normalisation over the last dimensions: `(x - mean) / sqrt(variance + eps) * weight + bias`
/// (`nn.LayerNorm`). J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer Normalization" (2016).
///
/// The input is `[.., normalized_shape]`, and so are the output and, without the leading dimensions,
/// weight and bias, which begin as ones and zeros. Inputs in half precision may have parameters in
/// `F32`.
#[derive(Clone, Debug, Module)]
#[module(extra_repr = LayerNorm::options)]
pub struct LayerNorm {
    weight: Tensor,
    bias: Tensor,
    eps: f64,
}

impl LayerNorm {
    /// A layer on the default device, with the default dtype, and an `eps` of `1e-5`.
    ///
    /// # Errors
    /// Memory is short.
    ///
    /// ```
    /// use nn::{Forward, LayerNorm};
    /// use tensor::tensor;
    /// let normal = LayerNorm::new([2])?.forward(&tensor![[1.0, 3.0], [-5.0, 5.0]]?)?;
    /// assert!(normal.allclose(&tensor![[-1.0, 1.0], [-1.0, 1.0]]?, 1e-4, 0.0)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn new(normalized_shape: impl Into<Shape>) -> Result<LayerNorm> {
        LayerNorm::new_with(normalized_shape, ())
    }

    /// A layer on the given device, with the given dtype.
    ///
    /// # Errors
    /// The dtype is no floating one, the device does not exist, or its memory is short.
    #[track_caller]
    pub fn new_with(
        normalized_shape: impl Into<Shape>,
        options: impl Into<TensorOptions>,
    ) -> Result<LayerNorm> {
        let (shape, options) = (normalized_shape.into(), options.into().requires_grad(true));
        let (weight, bias) = (Tensor::ones(&shape, options)?, Tensor::zeros(&shape, options)?);
        Ok(LayerNorm { weight, bias, eps: 1e-5 })
    }

    /// The layer with another `eps`, which keeps it from dividing by nothing.
    pub fn with_eps(mut self, eps: f64) -> LayerNorm {
        self.eps = eps;
        self
    }

    /// The factors, of the shape that is normalised.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// The numbers that are added, of the shape that is normalised.
    pub fn bias(&self) -> &Tensor {
        &self.bias
    }

    fn options(&self) -> String {
        let mut extra = ExtraRepr::new();
        self.weight.shape().to_vec().describe("0", &mut extra);
        self.eps.describe("eps", &mut extra);
        true.describe("elementwise_affine", &mut extra);
        true.describe("bias", &mut extra);
        extra.to_string()
    }

    /// The error as one of this layer, if its input is what does not fit.
    fn explain(&self, error: Error, input: &Tensor) -> Error {
        let layer = || format!("LayerNorm({:?})", self.weight.shape());
        let expected = format!("the last sizes to be {:?}", self.weight.shape());
        LayerError::explain(error, layer, &self.weight, input, Some(expected))
    }
}

impl Forward for LayerNorm {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let shape = self.weight.shape();
        match input.layer_norm(shape, Some(&self.weight), Some(&self.bias), self.eps) {
            Ok(output) => Ok(output),
            Err(error) => Err(self.explain(error, input)),
        }
    }
}
