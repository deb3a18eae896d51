//! Recording: operations become nodes of the graph.

use std::cell::RefCell;
use std::panic::Location;

use gpu_runtime::Stream;
use smallvec::{SmallVec, smallvec};

use super::history::set_edge;
use super::saved::Saving;
use crate::grad_mode::is_grad_enabled;
use crate::resolved_device::ResolvedDevice;
use crate::shared::Counted;
use crate::tensor::{
    BackwardFunction, Edge, Form, Gradients, InputEdges, Node, NodeBackward, NodeOutput, NodeParts,
    OutputForms,
};
use crate::{Result, Tensor};

/// Records that `output` was computed from `inputs`, if grad mode is on and one of them requires
/// gradients, and gives it back. Only then is `save` called: it saves what the gradient needs of
/// the forward pass (by [`Saving::save`] and [`Saving::save_output`], and only for the inputs of
/// [`Saving::needs`]) and gives the backward function.
///
/// The backward function takes the gradient of the output, and for each input whether it needs one,
/// and gives the gradients of the inputs. They may have the operation's dtype and broadcast shape:
/// the engine sums and converts them to the shape, dtype and device of each input. It consists of
/// operations that are recorded themselves, since in a pass with `create_graph` it runs in grad
/// mode.
#[track_caller]
pub(crate) fn record<const N: usize, B>(
    name: &'static str,
    inputs: [&Tensor; N],
    output: Tensor,
    save: impl FnOnce(&Saving<'_>) -> B,
) -> Tensor
where
    B: Fn(&Tensor, [bool; N]) -> Result<[Option<Tensor>; N]> + Send + Sync + 'static,
{
    record_with(name, &inputs, output, |saving| {
        let backward = save(saving);
        BackwardFunction::new(move |gradients: &[Option<Tensor>], needs: &[bool]| {
            let needs = std::array::from_fn(|input| needs[input]);
            match &gradients[0] {
                Some(gradient) => Ok(Gradients::from_iter(backward(gradient, needs)?)),
                None => Ok(Gradients::new()),
            }
        })
    })
}

/// [`record`] for a product of two operands: the gradient of each is computed from that of the
/// output and the other operand, which is saved for it. `gradient` takes the position of the operand
/// whose gradient it gives, the output's gradient, and the other operand.
#[track_caller]
pub(crate) fn record_product(
    name: &'static str,
    [a, b]: [&Tensor; 2],
    output: Tensor,
    gradient: impl Fn(usize, &Tensor, &Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> Tensor {
    record(name, [a, b], output, |saving| {
        let of = |needed: bool, other: &Tensor| needed.then(|| saving.save(other));
        let others = [of(saving.needs(0), b), of(saving.needs(1), a)];
        move |grad: &Tensor, needs: [bool; 2]| {
            let of = |position: usize| {
                let other = others[position].as_ref().filter(|_| needs[position]);
                other.map(|other| gradient(position, grad, &*other.read()?)).transpose()
            };
            Ok([of(0)?, of(1)?])
        }
    })
}

/// [`record`] for operations on any number of tensors, like `cat`.
#[track_caller]
pub(crate) fn record_many<B>(
    name: &'static str,
    inputs: &[&Tensor],
    output: Tensor,
    save: impl FnOnce(&Saving<'_>) -> B,
) -> Tensor
where
    B: Fn(&Tensor, &[bool]) -> Result<Gradients> + Send + Sync + 'static,
{
    record_with(name, inputs, output, |saving| {
        let backward = save(saving);
        BackwardFunction::new(move |gradients: &[Option<Tensor>], needs: &[bool]| match &gradients
            [0]
        {
            Some(gradient) => backward(gradient, needs),
            None => Ok(Gradients::new()),
        })
    })
}

/// [`record`] with a backward function as the graph takes it.
#[track_caller]
pub(crate) fn record_with(
    name: &'static str,
    inputs: &[&Tensor],
    output: Tensor,
    function: impl FnOnce(&Saving<'_>) -> BackwardFunction,
) -> Tensor {
    if !is_recorded(inputs, &output) {
        return output;
    }
    let node = recorded(name, inputs, &[&output], function);
    output.with_history(NodeOutput { node, index: 0 })
}

/// [`record`] for operations with several outputs, like `split`: they get one node. The backward
/// function takes a gradient for each output, `None` where none arrived. An output that is no float
/// gets no history.
#[track_caller]
pub(crate) fn record_outputs<B>(
    name: &'static str,
    inputs: &[&Tensor],
    outputs: Vec<Tensor>,
    save: impl FnOnce(&Saving<'_>) -> B,
) -> Vec<Tensor>
where
    B: Fn(&[Option<Tensor>], &[bool]) -> Result<Gradients> + Send + Sync + 'static,
{
    if !outputs.iter().any(|output| is_recorded(inputs, output)) {
        return outputs;
    }
    let borrowed: SmallVec<[&Tensor; 4]> = outputs.iter().collect();
    let node = recorded(name, inputs, &borrowed, |saving| {
        let backward = save(saving);
        BackwardFunction::new(move |gradients: &[Option<Tensor>], needs: &[bool]| {
            backward(gradients, needs)
        })
    });
    let with_history = |(index, output): (usize, Tensor)| match output.dtype().is_float() {
        true => output.with_history(NodeOutput { node: node.clone(), index: index as u32 }),
        false => output,
    };
    drop(borrowed);
    outputs.into_iter().enumerate().map(with_history).collect()
}

/// Whether an operation is recorded that computes `output` from `inputs`.
pub(super) fn is_recorded(inputs: &[&Tensor], output: &Tensor) -> bool {
    is_grad_enabled()
        && output.dtype().is_float()
        && inputs.iter().any(|input| input.requires_grad())
}

/// The node of an operation that has just computed `outputs`, on their device's current stream.
#[track_caller]
fn recorded(
    name: &'static str,
    inputs: &[&Tensor],
    outputs: &[&Tensor],
    function: impl FnOnce(&Saving<'_>) -> BackwardFunction,
) -> Counted<Node> {
    let mut node = node_of(name, Location::caller(), inputs, outputs);
    let saved = RefCell::new(smallvec![]);
    let saving = Saving { node: &node, outputs, base: None, written: None, saved };
    let function = function(&saving);
    let saved = saving.saved.into_inner();
    Node::complete(&mut node, NodeBackward { function, saved });
    node
}

/// The node of an operation without its backward function. It is apart from [`recorded`], which is
/// compiled for each operation.
fn node_of(
    name: &'static str,
    place: &'static Location<'static>,
    inputs: &[&Tensor],
    outputs: &[&Tensor],
) -> Counted<Node> {
    let stream = outputs.first().and_then(|output| forward_stream(output));
    let (edges, forms) = (no_edges(inputs.len()), OutputForms::new());
    let mut node = Node::new(NodeParts { name, place, inputs: edges, outputs: forms, stream });
    // These are written where they stay. A node that was put together first would be copied there.
    let parts = Node::parts_mut(&mut node);
    parts.inputs.iter_mut().zip(inputs).for_each(|(edge, input)| set_edge(edge, input));
    outputs.iter().for_each(|output| parts.outputs.push(Form::of(output)));
    node
}

/// So many edges to be set.
#[inline]
fn no_edges(count: usize) -> InputEdges {
    const FEW: [Option<Edge>; 3] = [const { None }; 3];
    match count <= FEW.len() {
        true => InputEdges::from_buf_and_len(FEW, count),
        false => (0..count).map(|_| None).collect(),
    }
}

/// The current stream of a tensor's device, on which its operation has just been enqueued.
pub(super) fn forward_stream(output: &Tensor) -> Option<Stream> {
    match output.resolved_device() {
        ResolvedDevice::Cpu => None,
        // If the stream cannot be found, the backward function runs on the current one.
        ResolvedDevice::Cuda(device) => device.current_stream().ok(),
    }
}
