//! The Gaussian error linear unit.

use tensor::Tensor;

use crate::{Forward, Module, Result};

/// The Gaussian error linear unit: [`Tensor::gelu`] as a layer (`nn.GELU`, without an
/// approximation). D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units (GELUs)" (2016).
///
/// ```
/// use nn::{Forward, GELU};
/// use tensor::tensor;
/// assert_eq!(GELU.forward(&tensor![0.0, 10.0]?)?.to_vec::<f32>()?, [0.0, 10.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Module)]
#[module(extra_repr = GELU::approximation)]
pub struct GELU;

impl GELU {
    fn approximation(&self) -> String {
        "approximate='none'".to_owned()
    }
}

impl Forward for GELU {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.gelu()
    }
}
