//! Handles that do not keep tensors alive.

use super::{Tensor, TensorImpl};
use crate::shared::WeakCounted;

/// A handle on a tensor that does not keep it alive.
pub(crate) struct WeakTensor(pub(super) WeakCounted<TensorImpl>);

impl WeakTensor {
    /// The tensor, if it still has a handle.
    pub(crate) fn upgrade(&self) -> Option<Tensor> {
        self.0.upgrade().map(|inner| Tensor { inner })
    }

    /// Whether the tensor still has a handle.
    pub(crate) fn is_alive(&self) -> bool {
        self.0.is_alive()
    }
}
