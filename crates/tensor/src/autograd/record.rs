//! Recording: operations become nodes of the graph.

use std::sync::Arc;

use smallvec::SmallVec;

use super::mode::is_grad_enabled;
use crate::AutogradError;
use crate::tensor::{BackwardFunction, Edge, Gradients, Meta, Node};
use crate::{Result, Tensor};

/// Records that `output` was computed from `inputs`, if grad mode is on and one of them requires
/// gradients, and gives it back. Only then is `save` called: it saves what the gradient needs of
/// the forward pass (as [`SavedTensor`](super::SavedTensor)s) and gives the backward function.
///
/// The backward function takes the gradient of the output, and for each input whether it needs one,
/// and gives the gradients of the inputs. They may have the operation's dtype and broadcast shape:
/// the engine sums and converts them to the shape, dtype and device of each input.
pub(crate) fn record<const N: usize, B>(
    name: &'static str,
    inputs: [&Tensor; N],
    output: Tensor,
    save: impl FnOnce(&Tensor) -> B,
) -> Tensor
where
    B: Fn(&Tensor, [bool; N]) -> Result<[Option<Tensor>; N]> + Send + Sync + 'static,
{
    if !is_recorded(&inputs, &output) {
        return output;
    }
    let backward = save(&output);
    let function = move |gradient: &Tensor, needs: &[bool]| {
        let needs = std::array::from_fn(|input| needs[input]);
        Ok(Gradients::from_iter(backward(gradient, needs)?))
    };
    attach(name, &inputs, output, Arc::new(function))
}

/// [`record`] for operations on any number of tensors, like `cat`.
pub(crate) fn record_many<B>(
    name: &'static str,
    inputs: &[&Tensor],
    output: Tensor,
    save: impl FnOnce(&Tensor) -> B,
) -> Tensor
where
    B: Fn(&Tensor, &[bool]) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
{
    if !is_recorded(inputs, &output) {
        return output;
    }
    let backward = save(&output);
    let function = move |gradient: &Tensor, needs: &[bool]| {
        Ok(Gradients::from_vec(backward(gradient, needs)?))
    };
    attach(name, inputs, output, Arc::new(function))
}

/// Refuses an operation in place that would have to be recorded. `operands` are the tensors that it
/// reads beside its target.
///
/// # Errors
/// Grad mode is on, and the target or an operand requires gradients.
pub(crate) fn check_in_place(
    op: &'static str,
    target: &Tensor,
    operands: &[&Tensor],
) -> Result<()> {
    if !is_grad_enabled() {
        return Ok(());
    }
    let argument = if target.requires_grad() {
        "self"
    } else if operands.iter().any(|operand| operand.requires_grad()) {
        "other"
    } else {
        return Ok(());
    };
    Err(AutogradError::InPlace { op, argument }.into())
}

fn is_recorded(inputs: &[&Tensor], output: &Tensor) -> bool {
    is_grad_enabled()
        && output.dtype().is_float()
        && inputs.iter().any(|input| input.requires_grad())
}

/// The output with a new node as its history.
fn attach(
    name: &'static str,
    inputs: &[&Tensor],
    output: Tensor,
    function: Arc<BackwardFunction>,
) -> Tensor {
    let edges: SmallVec<[Option<Edge>; 3]> =
        inputs.iter().map(|input| input.autograd().edge(input)).collect();
    let node = Node::new(name, edges, &output, function);
    output.with_autograd(Meta::of(Arc::new(node)))
}
