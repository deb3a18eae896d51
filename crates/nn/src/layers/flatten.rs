//! Flattening to one dimension per sample, and back.

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

/// [`Tensor::unflatten`] as a layer (`nn.Unflatten`): cuts one dimension into several, one of whose sizes may
/// be -1.
///
/// ```
/// use nn::{Forward, Unflatten};
/// use tensor::Tensor;
/// let layer = Unflatten::new(1, [3, -1]);
/// assert_eq!(layer.to_string(), "Unflatten(dim=1, unflattened_size=(3, -1))");
/// assert_eq!(layer.forward(&Tensor::ones([2, 12], ())?)?.shape(), [2, 3, 4]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
#[module(extra_repr = Unflatten::sizes)]
pub struct Unflatten {
    #[module(skip)]
    dim: isize,
    #[module(skip)]
    unflattened_size: Vec<isize>,
}

impl Unflatten {
    /// A layer that gives a dimension these sizes. `forward` fails where they do not multiply to its own.
    pub fn new(dim: isize, unflattened_size: impl Into<Vec<isize>>) -> Unflatten {
        Unflatten { dim, unflattened_size: unflattened_size.into() }
    }

    fn sizes(&self) -> String {
        let sizes: Vec<String> = self.unflattened_size.iter().map(isize::to_string).collect();
        // A tuple of one has a comma in Python.
        let comma = if sizes.len() == 1 { "," } else { "" };
        format!("dim={}, unflattened_size=({}{comma})", self.dim, sizes.join(", "))
    }
}

impl Forward for Unflatten {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.unflatten(self.dim, &*self.unflattened_size)
    }
}
