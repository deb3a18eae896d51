//! Normalisation by the root of the mean square.

use tensor::{Shape, Tensor, TensorOptions};

use crate::error::LayerError;
use crate::fields::{ExtraRepr, Field};
use crate::{Forward, Module, Result};

/// Division of the last dimensions by the root of the mean of their squares (`nn.RMSNorm`): see
/// [`Tensor::rms_norm`]. B. Zhang, R. Sennrich, "Root Mean Square Layer Normalization" (NeurIPS 2019).
///
/// The weight is of the shape that is normalised, and begins as ones.
#[derive(Clone, Debug, Module)]
#[module(extra_repr = RMSNorm::options)]
pub struct RMSNorm {
    weight: Option<Tensor>,
    #[module(skip)]
    normalized_shape: Shape,
    eps: Option<f64>,
}

impl RMSNorm {
    /// A layer on the default device, with the default dtype and the `eps` of the dtype.
    ///
    /// # Errors
    /// Memory is short.
    ///
    /// ```
    /// use nn::{Forward, RMSNorm};
    /// use tensor::tensor;
    /// let y = RMSNorm::new([2])?.forward(&tensor![[1.0, -7.0]]?)?;
    /// assert!(y.allclose(&tensor![[0.2, -1.4]]?, 1e-5, 0.0)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn new(normalized_shape: impl Into<Shape>) -> Result<RMSNorm> {
        RMSNorm::new_with(normalized_shape, ())
    }

    /// A layer on the given device, with the given dtype.
    ///
    /// # Errors
    /// The dtype is no floating one, the device does not exist, or its memory is short.
    #[track_caller]
    pub fn new_with(
        normalized_shape: impl Into<Shape>,
        options: impl Into<TensorOptions>,
    ) -> Result<RMSNorm> {
        let normalized_shape = normalized_shape.into();
        let options = options.into().requires_grad(true);
        let weight = Some(Tensor::ones(&normalized_shape, options)?);
        Ok(RMSNorm { weight, normalized_shape, eps: None })
    }

    /// The layer with another `eps`, which is added to the mean of the squares.
    pub fn with_eps(mut self, eps: impl Into<Option<f64>>) -> RMSNorm {
        self.eps = eps.into();
        self
    }

    /// The layer without its weight.
    pub fn without_affine(mut self) -> RMSNorm {
        self.weight = None;
        self
    }

    /// The factors, of the shape that is normalised.
    pub fn weight(&self) -> Option<&Tensor> {
        self.weight.as_ref()
    }

    fn options(&self) -> String {
        let mut extra = ExtraRepr::new();
        self.normalized_shape.to_vec().describe("0", &mut extra);
        self.eps.describe("eps", &mut extra);
        self.weight.is_some().describe("elementwise_affine", &mut extra);
        extra.to_string()
    }
}

impl Forward for RMSNorm {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let output = input.rms_norm(&self.normalized_shape, self.weight.as_ref(), self.eps);
        output.map_err(|error| match &self.weight {
            Some(weight) => {
                let expected = format!("the last sizes to be {:?}", self.normalized_shape);
                LayerError::explain(error, || self.to_string(), weight, input, Some(expected))
            }
            None => error,
        })
    }
}
