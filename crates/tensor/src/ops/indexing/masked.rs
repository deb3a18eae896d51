//! Elements at which a mask is true: copies of them, and copies into them.

use smallvec::smallvec;

use super::chosen::spread;
use crate::autograd::{InPlace, SavedTensor, Saving, record, record_many};
use crate::dispatch;
use crate::ops::convert::copy_into;
use crate::ops::index::{INDEX_COPY, check_source};
use crate::tensor::Gradients;
use crate::{DType, Error, Result, Shape, Tensor};

/// Elements that a mask chooses. The host waits for the mask, whose true elements it counts.
impl Tensor {
    /// The elements at which a mask is true, in one dimension. The two are broadcast.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, -2.0, 3.0]?;
    /// assert_eq!(x.masked_select(&x.gt(0.0)?)?.to_vec::<f32>()?, [1.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The mask is not of dtype `Bool`, or the shapes do not fit.
    #[track_caller]
    pub fn masked_select(&self, mask: &Tensor) -> Result<Tensor> {
        expect_mask("masked_select", mask)?;
        let source = self.detach();
        let both = Tensor::broadcast_tensors([&source, mask])?;
        let positions = both[1].flatten()?.nonzero()?.flatten()?;
        let output = both[0].flatten()?.index_select(0, &positions)?;
        Ok(record("masked_select", [self], output, |saving| {
            let (shape, mask) = (both[0].layout().shape().clone(), saving.save(mask));
            let source = saving.watch(self);
            // The positions are found again, so that the graph keeps nothing but the mask.
            move |grad: &Tensor, _| {
                source.check()?;
                let positions = mask.get()?.expand(&shape)?.flatten()?.nonzero()?.flatten()?;
                Ok([Some(spread(grad, &positions, &shape)?)])
            }
        }))
    }

    /// A copy of the tensor with the elements of `source`, in their order, where a mask is true. The
    /// tensor and the mask are broadcast.
    ///
    /// ```
    /// use tensor::tensor;
    /// let mask = tensor![true, false, true]?;
    /// let x = tensor![1.0, 2.0, 3.0]?.masked_scatter(&mask, &tensor![8.0, 9.0]?)?;
    /// assert_eq!(x.to_vec::<f32>()?, [8.0, 2.0, 9.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The mask is not of dtype `Bool`; the shapes do not fit; `source` has fewer elements than the
    /// mask has true ones, or another dtype than the tensor.
    #[track_caller]
    pub fn masked_scatter(&self, mask: &Tensor, source: &Tensor) -> Result<Tensor> {
        const OP: &str = "masked_scatter";
        let both = Tensor::broadcast_tensors([&self.detach(), mask])?;
        let output = both[0].clone_data()?;
        let picked = scatter_masked(OP, &output, mask, source)?;
        Ok(record_many(OP, &[self, source], output, |saving| {
            let masked = Masked::new(saving, mask, source, picked);
            move |grad: &Tensor, needs: &[bool]| masked.gradients(grad, needs)
        }))
    }

    /// [`Tensor::masked_scatter`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1, 2, 3]?;
    /// x.masked_scatter_(&x.gt(1)?, &tensor![8, 9]?)?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 8, 9]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::masked_scatter`] and [`Tensor::copy_`]; the mask is larger than the tensor.
    #[track_caller]
    pub fn masked_scatter_(&self, mask: &Tensor, source: &Tensor) -> Result<Tensor> {
        const OP: &str = "masked_scatter_";
        let write = InPlace::begin(OP, self, &[source])?;
        let picked = scatter_masked(OP, &self.detach(), mask, source)?;
        Ok(write.finish(|saving| {
            let masked = Masked::new(saving, mask, source, picked);
            move |grad: &Tensor, needs: &[bool]| masked.gradients(grad, needs)
        }))
    }
}

/// Writes the elements of `source` where the mask is true, and gives their number.
#[track_caller]
fn scatter_masked(
    op: &'static str,
    target: &Tensor,
    mask: &Tensor,
    source: &Tensor,
) -> Result<usize> {
    expect_mask(op, mask)?;
    dispatch::same_device(op, &[("self", target), ("mask", mask), ("source", source)])?;
    check_source(op, target, source)?;
    let places = mask.expand(target.layout().shape())?.flatten()?.nonzero()?.flatten()?;
    let picked = places.numel();
    if source.numel() < picked {
        let value = format!("{} elements for {picked} true ones of the mask", source.numel());
        let why = "there must be one for each";
        return Err(Error::InvalidArgument { op, argument: "source", value, why });
    }
    let source = source.detach().flatten()?.narrow(0, 0, picked)?;
    let flat = target.flatten()?;
    INDEX_COPY.write(op, &flat, 0, [&places, &source])?;
    if !flat.shares_memory_with(target) {
        copy_into(target, &flat.reshape(target.layout().shape())?)?;
    }
    Ok(picked)
}

/// A write where a mask is true, for the gradients.
struct Masked {
    mask: SavedTensor,
    /// The source's.
    shape: Shape,
    /// The number of its elements that were written.
    picked: usize,
}

impl Masked {
    fn new(saving: &Saving<'_>, mask: &Tensor, source: &Tensor, picked: usize) -> Masked {
        Masked { mask: saving.save(mask), shape: source.layout().shape().clone(), picked }
    }

    #[track_caller]
    fn gradients(&self, grad: &Tensor, needs: &[bool]) -> Result<Gradients> {
        let mask = self.mask.get()?;
        let of_source = || {
            let written = grad.masked_select(&mask)?;
            let rest = self.shape.numel() - self.picked;
            let rest = Tensor::zeros([rest], (grad.dtype(), grad.device()))?;
            Tensor::cat([written, rest], 0)?.reshape(&self.shape)
        };
        let of_self = needs[0].then(|| grad.masked_fill(&mask, 0)).transpose()?;
        Ok(smallvec![of_self, needs[1].then(of_source).transpose()?])
    }
}

/// # Errors
/// The tensor is not of truth values.
fn expect_mask(op: &'static str, mask: &Tensor) -> Result<()> {
    match mask.dtype() {
        DType::Bool => Ok(()),
        other => {
            let arguments = vec![("mask", other)];
            Err(Error::DTypeMismatch { op, arguments, rule: "it must be bool" })
        }
    }
}
