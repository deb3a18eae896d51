//! The rectified linear unit.

use tensor::Tensor;

use crate::{Forward, Module, Result};

/// The rectified linear unit: `max(x, 0)` for each element.
///
/// ```
/// use nn::{Forward, ReLU};
/// use tensor::tensor;
/// assert_eq!(ReLU.forward(&tensor![-1.0, 2.0]?)?.to_vec::<f32>()?, [0.0, 2.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Module)]
pub struct ReLU;

impl Forward for ReLU {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.relu()
    }
}
