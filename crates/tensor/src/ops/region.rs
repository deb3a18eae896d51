//! Parts of tensors by their layouts: gradients of views, and of writes to them.
//!
//! The three operations are linear, and the gradient of each is made of the others, so they can be
//! differentiated any number of times.

use super::convert::copy_into;
use super::view_strided::positions;
use crate::autograd::record;
use crate::dims::keepdim;
use crate::layout::{Layout, LayoutRegion};
use crate::tensor::ViewCreation;
use crate::{Result, Shape, Tensor, no_grad};

impl Tensor {
    /// The part of the tensor that lies where `layout`, of the same storage, says (`as_strided`).
    ///
    /// # Errors
    /// The layout does not lie inside the storage.
    #[track_caller]
    pub(crate) fn part_at(&self, layout: &Layout) -> Result<Tensor> {
        let creation = ViewCreation::Recorded;
        let view = self.differentiable_view(Ok(layout.clone()), creation)?;
        Ok(record("as_strided", [self], view, |_| {
            let region = LayoutRegion::new(self.layout().clone(), layout.clone());
            move |grad: &Tensor, _| Ok([Some(grad.spread(&region)?)])
        }))
    }

    /// The part of a tensor of the region's whole shape that lies in the region.
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub(crate) fn taken(&self, region: &LayoutRegion) -> Result<Tensor> {
        let placed = placed(self, region)?;
        let part = placed.alias(region.part_in(placed.offset()))?;
        Ok(record("as_strided", [self], part, |_| {
            let region = region.clone();
            move |grad: &Tensor, _| Ok([Some(grad.spread(&region)?)])
        }))
    }

    /// The tensor, of the shape of the region's part, at its places in zeros of the whole shape.
    /// Several elements at one place are added.
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub(crate) fn spread(&self, region: &LayoutRegion) -> Result<Tensor> {
        let repeated = region.repeated_dims();
        if !repeated.is_empty() {
            let once = region.once().map_err(|problem| problem.of(self.dtype()))?;
            return self.sum(keepdim(&repeated))?.spread(&once);
        }
        let whole = new_whole(self, region)?;
        if region.part().overlaps_itself() {
            add_into(&whole, region, self)?;
        } else {
            copy_into(&whole.alias(region.part_in(whole.offset()))?, self)?;
        }
        Ok(record("as_strided_backward", [self], whole, |_| {
            let region = region.clone();
            move |grad: &Tensor, _| Ok([Some(grad.taken(&region)?)])
        }))
    }

    /// The tensor, of the region's whole shape, with the part that lies in the region replaced
    /// (`as_strided_scatter`).
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub(crate) fn replaced(&self, region: &LayoutRegion, part: &Tensor) -> Result<Tensor> {
        let whole = new_whole(self, region)?;
        copy_into(&whole, self)?;
        copy_into(&whole.alias(region.part_in(whole.offset()))?, part)?;
        Ok(record("as_strided_scatter", [self, part], whole, |_| {
            let region = region.clone();
            move |grad: &Tensor, [of_rest, of_part]: [bool; 2]| {
                let part = || grad.taken(&region);
                let rest = || grad.replaced(&region, &part()?.zeros_like()?);
                Ok([of_rest.then(rest).transpose()?, of_part.then(part).transpose()?])
            }
        }))
    }

    /// A copy that lies in the same order as a dense layout of the same shape, without history.
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub(crate) fn clone_in_order_of(&self, layout: &Layout) -> Result<Tensor> {
        let all = Tensor::uninit([self.numel()].into(), self.dtype(), self.resolved_device())?;
        let copy = all.alias(layout.clone().at(layout.offset() - layout.start()))?;
        copy_into(&copy, self)?;
        Ok(copy)
    }
}

/// Zeros in the layout of the region's whole, with the dtype and device of `like`.
#[track_caller]
fn new_whole(like: &Tensor, region: &LayoutRegion) -> Result<Tensor> {
    let layout = region.whole();
    let len = layout.end() - layout.start().min(layout.end());
    let all = Tensor::zeros(Shape::from([len]), (like.dtype(), like.device()))?;
    all.alias(layout.clone().at(layout.offset() - layout.start()))
}

/// Adds the elements of a part that has some places several times to the whole.
#[track_caller]
fn add_into(whole: &Tensor, region: &LayoutRegion, part: &Tensor) -> Result<()> {
    let layout = region.part_in(whole.offset()).map_err(|problem| problem.of(part.dtype()))?;
    let positions = Tensor::from_vec(positions(&layout), [layout.numel()], part.device())?;
    let all = Layout::contiguous([whole.layout().end()].into());
    let (memory, elements) = (whole.alias(all)?, part.detach().flatten()?);
    no_grad(|| memory.index_add_(0, &positions, &elements)).map(|_| ())
}

/// A gradient in the layout of the region's whole: itself if it lies so.
#[track_caller]
fn placed(gradient: &Tensor, region: &LayoutRegion) -> Result<Tensor> {
    if gradient.strides() == region.whole().strides() {
        return Ok(gradient.clone());
    }
    let whole = new_whole(gradient, region)?;
    copy_into(&whole, gradient)?;
    Ok(whole)
}
