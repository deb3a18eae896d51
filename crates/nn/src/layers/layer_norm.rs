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
    weight: Option<Tensor>,
    bias: Option<Tensor>,
    #[module(skip)]
    normalized_shape: Shape,
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
        let (weight, bias) = (Some(weight), Some(bias));
        Ok(LayerNorm { weight, bias, normalized_shape: shape, eps: 1e-5 })
    }

    /// The layer with another `eps`, which keeps it from dividing by nothing.
    pub fn with_eps(mut self, eps: f64) -> LayerNorm {
        self.eps = eps;
        self
    }

    /// The layer without weight and bias.
    pub fn without_affine(mut self) -> LayerNorm {
        (self.weight, self.bias) = (None, None);
        self
    }

    /// The layer without its bias.
    pub fn without_bias(mut self) -> LayerNorm {
        self.bias = None;
        self
    }

    /// The factors, of the shape that is normalised.
    pub fn weight(&self) -> Option<&Tensor> {
        self.weight.as_ref()
    }

    /// The numbers that are added, of the shape that is normalised.
    pub fn bias(&self) -> Option<&Tensor> {
        self.bias.as_ref()
    }

    fn options(&self) -> String {
        let mut extra = ExtraRepr::new();
        self.normalized_shape.to_vec().describe("0", &mut extra);
        self.eps.describe("eps", &mut extra);
        self.weight.is_some().describe("elementwise_affine", &mut extra);
        self.bias.is_some().describe("bias", &mut extra);
        extra.to_string()
    }

    /// The error as one of this layer, if its input is what does not fit.
    fn explain(&self, error: Error, input: &Tensor) -> Error {
        let Some(weight) = &self.weight else { return error };
        let layer = || format!("LayerNorm({:?})", self.normalized_shape);
        let expected = format!("the last sizes to be {:?}", self.normalized_shape);
        LayerError::explain(error, layer, weight, input, Some(expected))
    }
}

impl Forward for LayerNorm {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let (weight, bias) = (self.weight.as_ref(), self.bias.as_ref());
        match input.layer_norm(&self.normalized_shape, weight, bias, self.eps) {
            Ok(output) => Ok(output),
            Err(error) => Err(self.explain(error, input)),
        }
    }
}
