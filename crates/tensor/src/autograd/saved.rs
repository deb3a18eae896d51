//! Tensors that are saved for the backward pass, with the check that they were not changed since.

use crate::AutogradError;
use crate::{Result, Tensor};

/// A tensor that was saved when an operation was recorded (PyTorch's `SavedVariable`). It shares
/// the memory but has no history, so that a node can save its own output without a cycle. A change
/// of the memory in place since then is noticed by the storage's version.
pub(crate) struct SavedTensor {
    tensor: Tensor,
    version: u64,
}

impl SavedTensor {
    pub(crate) fn new(tensor: &Tensor) -> SavedTensor {
        // A tensor without history is saved as it is, which saves the cost of a new handle.
        let tensor = match tensor.autograd().node() {
            Some(_) => tensor.detach(),
            None => tensor.clone(),
        };
        SavedTensor { version: tensor.storage().version(), tensor }
    }

    /// The tensor.
    ///
    /// # Errors
    /// The memory was modified in place since it was saved.
    pub(crate) fn get(&self) -> Result<Tensor> {
        let now = self.tensor.storage().version();
        if now != self.version {
            let shape = self.tensor.layout().shape().clone();
            return Err(AutogradError::Modified { shape, saved: self.version, now }.into());
        }
        Ok(self.tensor.clone())
    }
}
