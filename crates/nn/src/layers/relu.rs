//! The rectified linear unit.

use tensor::Tensor;

use super::no_parameters;
use crate::{Module, Result};

/// The rectified linear unit: `max(x, 0)` for each element.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReLU;

impl Module for ReLU {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.relu()
    }

    no_parameters!();
}
