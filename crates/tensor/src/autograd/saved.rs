//! What a backward function keeps of the forward pass, and the check that it is still the same.

use crate::AutogradError;
use crate::{Result, Tensor};

/// A tensor as it was when an operation was recorded. It shares the memory and knows no graph, so
/// an output may be saved in its own node; a change of the memory in place since then is noticed.
pub(crate) struct SavedTensor {
    tensor: Tensor,
    version: u64,
}

impl SavedTensor {
    pub(crate) fn new(tensor: &Tensor) -> SavedTensor {
        // A tensor without history is saved as it is, and the price of another handle on its memory.
        let tensor = match tensor.autograd().node() {
            Some(_) => tensor.detach(),
            None => tensor.clone(),
        };
        SavedTensor { version: tensor.storage().version(), tensor }
    }

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
