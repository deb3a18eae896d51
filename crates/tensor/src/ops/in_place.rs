//! Operations that write a tensor's memory: filling, and copies from another tensor.

use super::convert::{copy_into, fill};
use super::movement::bring;
use super::pointwise::apart_from;
use crate::autograd::InPlace;
use crate::dispatch::Blocking;
use crate::{Error, Result, Scalar, Tensor};

impl Tensor {
    /// Sets all elements to `value`, converted to the tensor's dtype, and gives the same handle.
    ///
    /// # Errors
    /// The tensor requires gradients, or its elements share memory (after `expand`).
    #[track_caller]
    pub fn fill_(&self, value: impl Into<Scalar>) -> Result<Tensor> {
        let write = InPlace::begin("fill_", self, &[])?;
        fill(self, value.into())?;
        Ok(write.finish_constant())
    }

    /// Sets all elements to zero, and gives the same handle.
    ///
    /// # Errors
    /// As [`Tensor::fill_`].
    #[track_caller]
    pub fn zero_(&self) -> Result<Tensor> {
        let write = InPlace::begin("zero_", self, &[])?;
        fill(self, Scalar::Int(0))?;
        Ok(write.finish_constant())
    }

    /// Copies the elements of `source`, which may lie on any device, into this tensor, broadcast
    /// and converted, and gives the same handle. A copy between the host and a device is done when
    /// this returns; one on a device or between two of them is enqueued.
    ///
    /// # Errors
    /// As [`Tensor::fill_`]; or `source` does not broadcast to the tensor's shape.
    #[track_caller]
    pub fn copy_(&self, source: &Tensor) -> Result<Tensor> {
        self.copy_with(source, Blocking::Yes)
    }

    /// [`Tensor::copy_`] with the choice not to wait (`non_blocking`). With [`Blocking::No`] a copy between a
    /// device and page-locked memory is only enqueued; later reads and writes of either side
    /// through this crate wait for it.
    ///
    /// # Errors
    /// As [`Tensor::copy_`].
    #[track_caller]
    pub fn copy_with(&self, source: &Tensor, blocking: Blocking) -> Result<Tensor> {
        let write = InPlace::begin("copy_", self, &[source])?;
        if self.layout().shape().broadcast(source.shape()).as_ref() != Some(self.layout().shape()) {
            return Err(Error::ShapeMismatch {
                op: "copy_",
                shapes: vec![
                    ("self", self.layout().shape().clone()),
                    ("source", source.layout().shape().clone()),
                ],
                rule: "`source` must broadcast to the shape of `self`",
            });
        }
        if self.resolved_device() == source.resolved_device() {
            let apart = apart_from(self, source)?;
            copy_into(self, apart.as_ref().unwrap_or(source))?;
        } else {
            bring(self, source, blocking)?;
        }
        Ok(write.finish(|_| {
            |grad: &Tensor, needs: &[bool]| {
                let of_self = needs[0].then(|| grad.zeros_like()).transpose()?;
                Ok(vec![of_self, needs[1].then(|| grad.clone())])
            }
        }))
    }
}
