//! The rectified linear unit.

use tensor::Tensor;

use crate::{Forward, Module, Result};

/// The rectified linear unit: `max(x, 0)` for each element.
#[derive(Clone, Copy, Debug, Default, Module)]
pub struct ReLU;

impl Forward for ReLU {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.relu()
    }
}
