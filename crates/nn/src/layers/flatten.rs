//! Flattening to one dimension per sample.

use tensor::Tensor;

use crate::{Forward, Module, Result};

/// Merges all dimensions except the first, the batch: `[n, a, b]` becomes `[n, a * b]`. `forward`
/// fails for an input without dimensions.
#[derive(Clone, Copy, Debug, Default, Module)]
#[module(extra_repr = Flatten::dims)]
pub struct Flatten;

impl Flatten {
    fn dims(&self) -> String {
        "start_dim=1, end_dim=-1".to_owned()
    }
}

impl Forward for Flatten {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let batch = input.size(0)?;
        input.reshape([batch, input.shape()[1..].iter().product()])
    }
}
