//! The function that a module computes.

use crate::{Module, Result};
use tensor::Tensor;

/// The function that a module computes from an `Input`: a tensor, a tuple of tensors, or a type of
/// the program's own. A module may have several.
///
/// ```
/// use nn::{Forward, Linear, Module, Result};
/// use tensor::Tensor;
///
/// /// Compares two inputs by their projections.
/// #[derive(Module)]
/// struct Similarity {
///     left: Linear,
///     right: Linear,
/// }
///
/// impl Forward<(Tensor, Tensor)> for Similarity {
///     type Output = Tensor;
///     fn forward(&self, (a, b): &(Tensor, Tensor)) -> Result<Tensor> {
///         self.left.forward(a)?.mul(&self.right.forward(b)?)?.sum(())
///     }
/// }
///
/// let module = Similarity { left: Linear::new(3, 8)?, right: Linear::new(5, 8)? };
/// let inputs = (Tensor::ones([2, 3], ())?, Tensor::ones([2, 5], ())?);
/// assert_eq!(module.forward(&inputs)?.dims(), 0);
///
/// // Modules whose types are not known until the program runs.
/// let layers: Vec<Box<dyn Forward<Tensor, Output = Tensor>>> =
///     vec![Box::new(Linear::new(3, 8)?), Box::new(nn::ReLU)];
/// let mut x = Tensor::ones([2, 3], ())?;
/// for layer in &layers {
///     x = layer.forward(&x)?;
/// }
/// assert_eq!(x.shape(), [2, 8]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` computes nothing from a `{Input}`",
    label = "it has no `Forward<{Input}>`",
    note = "a module may have a forward pass for another type of input: see its `impl Forward`"
)]
pub trait Forward<Input: ?Sized = Tensor>: Module {
    /// The type of the result.
    type Output;

    /// Computes the output, on the device that the parameters are on. On CUDA the work is enqueued.
    ///
    /// # Errors
    /// The input does not fit: its shape, its dtype, or its device.
    fn forward(&self, input: &Input) -> Result<Self::Output>;
}
