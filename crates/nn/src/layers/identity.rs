//! The layer that does nothing.

use tensor::Tensor;

use crate::{Forward, Module, Result};

/// Gives its input back (`nn.Identity`).
///
/// ```
/// use nn::{Forward, Identity};
/// use tensor::tensor;
/// let x = tensor![1.0, 2.0]?;
/// assert_eq!(Identity.forward(&x)?.id(), x.id());
/// assert_eq!(Identity.to_string(), "Identity()");
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Module)]
pub struct Identity;

impl Forward for Identity {
    type Output = Tensor;

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        Ok(input.clone())
    }
}
