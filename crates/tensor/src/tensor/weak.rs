//! Handles on tensors that do not keep them alive.

use super::{Tensor, TensorImpl};
use crate::shared::{Counted, WeakCounted};

/// A handle on a tensor that does not keep it alive.
pub(crate) struct WeakTensor(WeakCounted<TensorImpl>);

impl WeakTensor {
    /// A weak handle on a tensor.
    pub(super) fn of(tensor: &Tensor) -> WeakTensor {
        WeakTensor(Counted::downgrade(&tensor.inner))
    }

    /// The tensor, if it still has a handle.
    pub(crate) fn upgrade(&self) -> Option<Tensor> {
        self.0.upgrade().map(|inner| Tensor { inner })
    }

    /// Whether the tensor still has a handle.
    pub(crate) fn is_alive(&self) -> bool {
        self.0.is_alive()
    }
}
