//! Recording of operations in place: the tensor that was written gets a new history, and if it is a
//! view, so does the tensor that it is a view of.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;

use smallvec::smallvec;

use super::history::{edge_of, output_of};
use super::record::forward_stream;
use super::saved::{SavedTensor, Saving, WrittenView};
use crate::AutogradError;
use crate::grad_mode::is_grad_enabled;
use crate::layout::LayoutRegion;
use crate::shared::Counted;
use crate::tensor::{
    BackwardFunction, Edge, Form, Gradients, InputEdges, Node, NodeBackward, NodeOutput, NodeParts,
    ViewCreation,
};
use crate::{Result, Tensor};

/// An operation that is about to write a tensor. It is begun before the write, which refuses what
/// cannot be recorded, and finished after it, which notes the change and records it.
///
/// ```ignore
/// let write = InPlace::begin("mul_", self, &[other])?;
/// let before = write.copy_if(write.needs(1))?;      // the gradient of `other` needs the old `self`
/// multiply(self, other)?;
/// write.finish(|saving| {
///     let other = saving.needs(0).then(|| saving.save(other));
///     let before = before.map(|before| before.save(saving));
///     move |grad: &Tensor, needs: &[bool]| ..
/// })
/// ```
#[must_use = "the write is not recorded before finish()"]
pub(crate) struct InPlace<'a> {
    name: &'static str,
    target: &'a Tensor,
    /// The edges of the target as it was and of the operands, if the operation is recorded.
    edges: Option<InputEdges>,
    place: &'static Location<'static>,
}

/// A copy of a tensor that is about to be overwritten, for the backward function.
pub(crate) struct CopyBefore {
    copy: Tensor,
    edge: Option<Edge>,
}

impl CopyBefore {
    /// Saves the copy in place of the tensor.
    pub(crate) fn save(&self, saving: &Saving<'_>) -> SavedTensor {
        saving.save_copy(&self.copy, self.edge.clone())
    }
}

impl<'a> InPlace<'a> {
    /// Begins an operation that writes `target`. `operands` are the tensors that it reads beside.
    ///
    /// # Errors
    /// Grad mode is on, the target or an operand requires gradients, and the target is a leaf that
    /// requires gradients, a view of one, or a view that must not be written to. Or the target is a
    /// tensor of inference mode, and that is off.
    #[track_caller]
    pub(crate) fn begin(
        name: &'static str,
        target: &'a Tensor,
        operands: &[&Tensor],
    ) -> Result<InPlace<'a>> {
        target.check_inference(name)?;
        let place = Location::caller();
        let is_recorded = is_grad_enabled()
            && (target.requires_grad() || operands.iter().any(|operand| operand.requires_grad()));
        if !is_recorded {
            return Ok(InPlace { name, target, edges: None, place });
        }
        check_target(name, target)?;
        let edges = target.dtype().is_float().then(|| {
            let tensors = [target].into_iter().chain(operands.iter().copied());
            tensors.map(edge_of).collect()
        });
        Ok(InPlace { name, target, edges, place })
    }

    /// Whether an input requires a gradient: the target as it was is input 0, the operands follow.
    /// `false` if the operation is not recorded.
    pub(crate) fn needs(&self, input: usize) -> bool {
        self.edges.as_ref().is_some_and(|edges| edges[input].is_some())
    }

    /// A copy of the target as it is before the write, if the backward function needs it.
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub(crate) fn copy_if(&self, needed: bool) -> Result<Option<CopyBefore>> {
        let Some(edges) = self.edges.as_ref().filter(|_| needed) else { return Ok(None) };
        let copy = self.target.detach().clone_data()?;
        Ok(Some(CopyBefore { copy, edge: edges[0].clone() }))
    }

    /// Finishes an operation after its write, and gives the target. If the operation is recorded,
    /// `save` is called as by [`record`](super::record); the new values are the output. The backward
    /// function gives the gradients of the target as it was and of the operands.
    pub(crate) fn finish<B>(self, save: impl FnOnce(&Saving<'_>) -> B) -> Tensor
    where
        B: Fn(&Tensor, &[bool]) -> Result<Gradients> + Send + Sync + 'static,
    {
        let storage = self.target.storage();
        let before = storage.version();
        storage.bump_version();
        let Some(edges) = self.edges else { return self.target.clone() };
        let (name, place, target) = (self.name, self.place, self.target);
        let base = target.view_of_base().map(|view| &view.base);
        let mut inputs = edges;
        if let Some(base) = base {
            inputs[0] = edge_of(base);
        }
        let owner = base.unwrap_or(target);
        let parts = NodeParts {
            name,
            place,
            outputs: smallvec![Form::of(owner)],
            stream: forward_stream(owner),
            inputs,
        };
        let view = base.map(|_| WrittenView::default());
        let mut node = Node::new(parts);
        let of_base = base.zip(view.as_ref());
        let saving = Saving {
            node: &node,
            outputs: &[target],
            base: of_base,
            written: Some((storage, before)),
            saved: RefCell::new(smallvec![]),
        };
        let backward = save(&saving);
        let function = match base {
            Some(base) => of_part(backward, base, target),
            None => of_whole(backward),
        };
        let saved = saving.saved.into_inner();
        Node::complete(&mut node, NodeBackward { function, saved });
        let version = owner.storage().version();
        owner.autograd().replace_history(NodeOutput { node, index: 0 }, version);
        if let Some(view) = view.filter(|view| Arc::strong_count(view) > 1)
            && let Some(part) = output_of(target)
        {
            // The part was saved.
            let _ = view.set(Counted::downgrade(&part.node));
        }
        target.clone()
    }

    /// Finishes an operation whose result depends on none of its inputs (`zero_`), and gives the
    /// target. Their gradients are zero.
    pub(crate) fn finish_constant(self) -> Tensor {
        self.finish(|_| {
            |grad: &Tensor, needs: &[bool]| {
                let zeros = |needed: &bool| needed.then(|| grad.zeros_like()).transpose();
                needs.iter().map(zeros).collect()
            }
        })
    }
}

/// Refuses to record a write.
fn check_target(op: &'static str, target: &Tensor) -> Result<(), AutogradError> {
    if let Some(view) = target.view_of_base() {
        match view.creation {
            ViewCreation::Recorded => {}
            creation => return Err(AutogradError::InPlaceOnView { op, creation: creation.text() }),
        }
        if target.requires_grad() && output_of(&view.base).is_none() {
            return Err(AutogradError::InPlaceOnLeaf { op, target: "a view of a leaf" });
        }
    }
    if target.requires_grad() && output_of(target).is_none() {
        return Err(AutogradError::InPlaceOnLeaf { op, target: "a leaf" });
    }
    Ok(())
}

impl ViewCreation {
    fn text(self) -> &'static str {
        match self {
            ViewCreation::Recorded => "by a recorded operation",
            ViewCreation::OneOfSeveral => "by an operation that gives several views",
            ViewCreation::WithoutGradMode => "while grad mode was off",
        }
    }
}

/// The function of a node whose output was written as a whole.
fn of_whole<B>(backward: B) -> BackwardFunction
where
    B: Fn(&Tensor, &[bool]) -> Result<Gradients> + Send + Sync + 'static,
{
    BackwardFunction::new(move |gradients: &[Option<Tensor>], needs: &[bool]| match &gradients[0] {
        Some(gradient) => backward(gradient, needs),
        None => Ok(Gradients::new()),
    })
}

/// The function of a node that wrote a part of its output (PyTorch's `CopySlices`): the gradient of
/// the part goes through the operation, the rest goes on to the output as it was.
fn of_part<B>(backward: B, base: &Tensor, part: &Tensor) -> BackwardFunction
where
    B: Fn(&Tensor, &[bool]) -> Result<Gradients> + Send + Sync + 'static,
{
    let region = LayoutRegion::new(base.layout().clone(), part.layout().clone());
    let form = Form::of(part);
    BackwardFunction::new(move |gradients: &[Option<Tensor>], needs: &[bool]| {
        let Some(gradient) = &gradients[0] else { return Ok(Gradients::new()) };
        let mut inputs = backward(&gradient.taken(&region)?, needs)?;
        if needs[0] {
            let part = match inputs[0].take() {
                Some(part) => form.conform(part)?,
                None => form.zeros()?,
            };
            inputs[0] = Some(gradient.replaced(&region, &part)?);
        }
        Ok(inputs)
    })
}
