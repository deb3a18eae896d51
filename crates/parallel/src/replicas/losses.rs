//! The losses of a step.

use tensor::{Result, Tensor};

/// The losses of a step, one for each replica that had samples, on its own device. Nothing has been
/// waited for.
#[derive(Clone, Debug)]
pub struct StepLosses {
    parts: Vec<(Tensor, f64)>,
}

impl StepLosses {
    pub(super) fn new(parts: Vec<(Tensor, f64)>) -> StepLosses {
        StepLosses { parts }
    }

    /// The losses, in the order of the replicas.
    pub fn parts(&self) -> impl Iterator<Item = &Tensor> {
        self.parts.iter().map(|(loss, _)| loss)
    }

    /// The loss of the whole batch, on the first device: the mean of the parts, each by the number
    /// of its samples. It is computed here, so a program that asks in each tenth step pays in each
    /// tenth.
    ///
    /// # Errors
    /// Memory is short, or a device failed.
    pub fn mean(&self) -> Result<Tensor> {
        let [(first, weight), rest @ ..] = &self.parts[..] else {
            return Tensor::zeros([], ());
        };
        let mut sum = first.mul(*weight)?;
        for (loss, weight) in rest {
            sum = sum.add(&loss.to(first.device())?.mul(*weight)?)?;
        }
        Ok(sum)
    }
}
