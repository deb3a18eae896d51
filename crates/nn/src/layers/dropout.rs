//! Dropout.

use tensor::Tensor;

use super::no_parameters;
use crate::{Module, Result};

/// In training, sets each element to zero with probability `p` and scales the others by
/// `1 / (1 - p)`; in evaluation, changes nothing.
///
/// Srivastava et al., "Dropout" (2014), in the inverted form that PyTorch uses.
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    p: f64,
    training: bool,
}

impl Dropout {
    /// A layer in training mode. `p` is clamped to `[0, 1]`.
    pub fn new(p: f64) -> Dropout {
        Dropout { p: p.clamp(0.0, 1.0), training: true }
    }
}

impl Module for Dropout {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        if !self.training || self.p == 0.0 {
            return Ok(input.clone());
        }
        if self.p == 1.0 {
            return input * 0.0;
        }
        let kept = input.empty_like()?.bernoulli_(1.0 - self.p)?;
        input * &(&kept * (1.0 / (1.0 - self.p)))?
    }

    fn set_training(&mut self, training: bool) {
        self.training = training;
    }

    no_parameters!();
}
