//! The rectifier.

use tensor::Tensor;

use super::no_parameters;
use crate::{Module, Result};

/// `max(x, 0)`, element by element.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReLU;

impl Module for ReLU {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.relu()
    }

    no_parameters!();
}
