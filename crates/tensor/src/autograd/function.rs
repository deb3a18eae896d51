//! Operations of one's own: a forward and a backward function that the graph takes like its own.

use super::record::record_outputs;
use super::saved::{SavedTensor, Saving};
use crate::{Result, Tensor, no_grad};

/// An operation of one's own (`torch.autograd.Function`): computes outputs from tensors, and the
/// gradients of the tensors from those of the outputs.
///
/// The value itself holds what is no tensor: sizes, factors, a loaded kernel. The forward function
/// runs without recording. What the backward function needs is saved in the context. If the
/// backward function consists of recorded operations, or of other functions of this kind, the
/// operation can be differentiated again ([`Backward::create_graph`](crate::Backward)); a saved
/// tensor that is neither an input nor an output counts as a constant then.
///
/// ```
/// use tensor::{
///     AutogradFunction, BackwardContext, ForwardContext, Result, Tensor, tensor,
/// };
///
/// /// x^3, whose gradient is 3 x^2.
/// struct Cube;
///
/// impl AutogradFunction for Cube {
///     fn name(&self) -> &'static str {
///         "cube"
///     }
///
///     fn forward(&self, context: &mut ForwardContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
///         context.save_for_backward(&[inputs[0]]);
///         Ok(vec![inputs[0].pow(3)?])
///     }
///
///     fn backward(
///         &self,
///         context: &BackwardContext<'_>,
///         gradients: &[Option<Tensor>],
///     ) -> Result<Vec<Option<Tensor>>> {
///         let x = context.saved(0)?;
///         let of_x = |grad: &Tensor| grad.mul(&x.square()?)?.mul(3);
///         Ok(vec![gradients[0].as_ref().map(of_x).transpose()?])
///     }
/// }
///
/// let x = tensor![2.0]?.requires_grad_(true)?;
/// let y = Cube.apply(&[&x])?.remove(0);
/// assert_eq!((y.grad_fn(), y.to_vec::<f32>()?), (Some("cube"), vec![8.0]));
/// y.backward()?;
/// assert_eq!(x.grad().expect("was computed").to_vec::<f32>()?, [12.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
pub trait AutogradFunction: Send + Sync + Sized + 'static {
    /// The name in [`Tensor::grad_fn`] and in errors.
    fn name(&self) -> &'static str;

    /// Computes the outputs. An output that is one of the inputs, or a view of one, stays that for
    /// memory, and is a result of this operation for gradients.
    ///
    /// # Errors
    /// The operation's own; [`AutogradFunction::apply`] gives them on.
    fn forward(&self, context: &mut ForwardContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>>;

    /// Computes the gradients of the inputs from those of the outputs, of which some may be
    /// `None`, but not all. There must be an entry for each input, `None` where
    /// [`BackwardContext::needs_input_grad`] is false. The pass sums a gradient of broadcast shape
    /// to the input's shape, and converts it to its dtype.
    ///
    /// # Errors
    /// The operation's own; the backward pass gives them on, with the name and the forward call.
    fn backward(
        &self,
        context: &BackwardContext<'_>,
        gradients: &[Option<Tensor>],
    ) -> Result<Vec<Option<Tensor>>>;

    /// Runs the operation, and records it if grad mode is on and an input requires gradients.
    ///
    /// # Errors
    /// Those of the forward function.
    #[track_caller]
    fn apply(self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let needs = inputs.iter().map(|input| input.requires_grad()).collect();
        let mut context = ForwardContext { needs, saved: Vec::new() };
        let outputs = no_grad(|| self.forward(&mut context, inputs))?;
        Ok(record_outputs(self.name(), inputs, outputs, |saving| {
            let saved: Vec<SavedTensor> =
                context.saved.into_iter().map(|tensor| save(saving, tensor)).collect();
            move |gradients: &[Option<Tensor>], needs: &[bool]| {
                let context = BackwardContext { saved: &saved, needs };
                let mut inputs = self.backward(&context, gradients)?;
                inputs.resize(needs.len(), None);
                Ok(inputs.into())
            }
        }))
    }
}

fn save(saving: &Saving<'_>, tensor: Tensor) -> SavedTensor {
    match saving.position_of_output(&tensor) {
        Some(output) => saving.save_output_at(output),
        None => saving.save(&tensor),
    }
}

/// The forward call of an [`AutogradFunction`]: takes what the backward function will need.
#[derive(Debug)]
pub struct ForwardContext {
    needs: Vec<bool>,
    saved: Vec<Tensor>,
}

impl ForwardContext {
    /// Whether an input requires a gradient. What only others need is not worth saving.
    pub fn needs_input_grad(&self, input: usize) -> bool {
        self.needs.get(input).copied().unwrap_or(false)
    }

    /// Saves tensors for the backward function, after those that are saved already. They may be
    /// inputs, outputs or others. One that is changed in place before the backward pass is an error
    /// there.
    pub fn save_for_backward(&mut self, tensors: &[&Tensor]) {
        self.saved.extend(tensors.iter().map(|&tensor| tensor.clone()));
    }
}

/// The backward call of an [`AutogradFunction`].
pub struct BackwardContext<'a> {
    saved: &'a [SavedTensor],
    needs: &'a [bool],
}

impl BackwardContext<'_> {
    /// A saved tensor, by its position among those of [`ForwardContext::save_for_backward`].
    ///
    /// # Errors
    /// It was changed in place since, or there is none at this position.
    pub fn saved(&self, position: usize) -> Result<Tensor> {
        let size = self.saved.len();
        let saved = self.saved.get(position).ok_or(crate::Error::IndexOutOfRange {
            op: "saved",
            position: None,
            index: i64::try_from(position).unwrap_or(i64::MAX),
            size,
        })?;
        saved.get()
    }

    /// Whether the gradient of an input is asked for.
    pub fn needs_input_grad(&self, input: usize) -> bool {
        self.needs.get(input).copied().unwrap_or(false)
    }
}

impl std::fmt::Debug for BackwardContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let saved = self.saved.len();
        f.debug_struct("BackwardContext").field("saved", &saved).finish_non_exhaustive()
    }
}
