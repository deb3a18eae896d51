//! The rectified linear unit whose slopes are random in training.

use tensor::Tensor;

use crate::{Forward, Module, Result};

/// [`Tensor::rrelu`] as a module (`nn.RReLU`): random slopes in training, their mean in evaluation
/// ([`Module::eval`]).
///
/// ```
/// use nn::{Forward, Module, RReLU};
/// use tensor::tensor;
/// let mut layer = RReLU::new(0.25, 0.75);
/// assert_eq!(layer.to_string(), "RReLU(lower=0.25, upper=0.75)");
/// let x = tensor![-8.0, 2.0]?;
/// assert!(layer.forward(&x)?.to_vec::<f32>()?[0] <= -2.0);
/// layer.eval();
/// assert_eq!(layer.forward(&x)?.to_vec::<f32>()?, [-4.0, 2.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct RReLU {
    lower: f64,
    upper: f64,
    #[module(training)]
    training: bool,
}

impl RReLU {
    /// A layer in training mode, with slopes between these. `forward` fails where they are no bounds.
    pub fn new(lower: f64, upper: f64) -> RReLU {
        RReLU { lower, upper, training: true }
    }
}

/// PyTorch's defaults: slopes between 1/8 and 1/3.
impl Default for RReLU {
    fn default() -> RReLU {
        RReLU::new(1.0 / 8.0, 1.0 / 3.0)
    }
}

impl Forward for RReLU {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.rrelu(self.lower, self.upper, self.training)
    }
}
