//! Flattening to one dimension per sample.

use tensor::Tensor;

use crate::error::LayerError;
use crate::{Forward, Module, Result};

/// Merges all dimensions except the first, the batch: `[n, a, b]` becomes `[n, a * b]`. `forward`
/// fails for an input without dimensions.
///
/// ```
/// use nn::{Flatten, Forward};
/// use tensor::Tensor;
/// assert_eq!(Flatten.forward(&Tensor::ones([2, 3, 4], ())?)?.shape(), [2, 12]);
/// # Ok::<(), tensor::Error>(())
/// ```
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
        let batch = match input.size(0) {
            Ok(batch) => batch,
            Err(error) => {
                let problem = "expected a batch, got an input without dimensions".to_owned();
                return Err(LayerError::of(self.to_string(), problem, error));
            }
        };
        input.reshape([batch, input.shape()[1..].iter().product()])
    }
}
