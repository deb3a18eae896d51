//! Flattening to one dimension per sample.

use tensor::Tensor;

use super::no_parameters;
use crate::{Module, Result};

/// Merges all dimensions except the first, the batch: `[n, a, b]` becomes `[n, a * b]`. `forward`
/// fails for an input without dimensions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flatten;

impl Module for Flatten {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let batch = input.size(0)?;
        input.reshape([batch, input.shape()[1..].iter().product()])
    }

    no_parameters!();
}
