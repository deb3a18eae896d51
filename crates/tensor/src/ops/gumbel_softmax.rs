//! Samples of categories with gradients.

use super::pointwise::{Kinds, Pointwise};
use crate::autograd::record;
use crate::{DType, Error, Result, Tensor, keepdim};

const OP: &str = "gumbel_softmax";

/// The logits with the noise of Gumbel's distribution, which is minus the logarithm of an exponentially
/// distributed number, divided by the temperature.
static DISTURBED: Pointwise<3> =
    Pointwise::common(OP, |[logits, exponential, tau]| (logits - exponential.log()) / tau)
        .of(Kinds::FLOATS)
        .promoted_by_first(2)
        .with_gradient(|g, [_, _, tau], _| [g / tau, g.constant(0.0), g.constant(0.0)]);

impl Tensor {
    /// Samples of categories along `dim`, whose logits the tensor has, that gradients flow through: the
    /// [`softmax`](Tensor::softmax) of the logits with random noise, divided by `tau`. It is the closer to
    /// one-hot the smaller `tau` is (1, `false` and -1 in PyTorch). With `hard` the result *is* one-hot,
    /// and its gradient that of the soft one. The noise is drawn from the
    /// [generator](crate::generator) of the tensor's device.
    ///
    /// E. Jang, S. Gu, B. Poole, "Categorical Reparameterization with Gumbel-Softmax" (2017).
    ///
    /// ```
    /// use tensor::tensor;
    /// let logits = tensor![[0.5, 0.5, 99.0], [99.0, 0.0, 0.0]]?.requires_grad_(true)?;
    /// let sample = logits.gumbel_softmax(1.0, true, -1)?;
    /// assert_eq!(sample.to_vec::<f32>()?, [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    /// sample.mul(2.0)?.sum(())?.backward()?;
    /// assert!(logits.grad().is_some());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `tau` is not above 0; there is no such dimension; the dtype is not a floating one.
    #[track_caller]
    pub fn gumbel_softmax(&self, tau: f64, hard: bool, dim: isize) -> Result<Tensor> {
        if tau.is_nan() || tau <= 0.0 {
            let (value, why) = (tau.to_string(), "it must be above 0");
            return Err(Error::InvalidArgument { op: OP, argument: "tau", value, why });
        }
        self.expect_floats(OP)?;
        // The least number that is drawn but for 0, whose logarithm would be infinite.
        let least = if self.dtype() == DType::F64 { f64::EPSILON / 2.0 } else { 2f64.powi(-24) };
        let exponential = Tensor::empty(self.shape(), (self.dtype(), self.device()))?;
        let exponential = exponential.exponential_(1.0)?.clamp_min_(least)?;
        let disturbed = DISTURBED.apply([self.into(), (&exponential).into(), tau.into()])?;
        let soft = disturbed.softmax(dim)?;
        if hard { chosen(&soft, dim) } else { Ok(soft) }
    }
}

/// Ones where the largest element is along a dimension, and zeros elsewhere; the gradient is handed through.
#[track_caller]
fn chosen(soft: &Tensor, dim: isize) -> Result<Tensor> {
    let index = soft.detach().argmax(keepdim(dim))?;
    let one_hot = soft.zeros_like()?.scatter_(dim, &index, 1.0)?;
    Ok(record(OP, [soft], one_hot, |_| |grad: &Tensor, _| Ok([Some(grad.clone())])))
}
