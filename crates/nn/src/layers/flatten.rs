//! Flattening to one dimension per example.

use tensor::Tensor;

use super::no_parameters;
use crate::{Module, Result};

/// Joins all dimensions but the first, the batch: `[n, a, b]` becomes `[n, a * b]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flatten;

impl Module for Flatten {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let batch = input.size(0)?;
        input.reshape([batch, input.shape()[1..].iter().product()])
    }

    no_parameters!();
}
