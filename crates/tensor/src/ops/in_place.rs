//! Operations that write a tensor's memory from a value or from another tensor.

use super::convert::{copy_into, fill};
use super::movement::bring;
use super::pointwise::apart_from;
use crate::autograd::check_in_place;
use crate::dispatch::Blocking;
use crate::{Error, Result, Scalar, Tensor};

impl Tensor {
    /// Writes `value`, converted to the tensor's dtype, everywhere; gives the same handle.
    ///
    /// # Errors
    /// The tensor requires gradients, or its elements share memory (after `expand`).
    #[track_caller]
    pub fn fill_(&self, value: impl Into<Scalar>) -> Result<Tensor> {
        check_in_place("fill_", self, &[])?;
        fill(self, value.into())?;
        self.storage().bump_version();
        Ok(self.clone())
    }

    /// Writes zero everywhere; gives the same handle.
    ///
    /// # Errors
    /// As [`Tensor::fill_`].
    #[track_caller]
    pub fn zero_(&self) -> Result<Tensor> {
        check_in_place("zero_", self, &[])?;
        fill(self, Scalar::Int(0))?;
        self.storage().bump_version();
        Ok(self.clone())
    }

    /// Writes the elements of `source`, broadcast and converted, from whatever device; gives the
    /// same handle. A copy between the host and a device is done when this returns.
    ///
    /// # Errors
    /// As [`Tensor::fill_`]; or `source` does not broadcast to the tensor's shape.
    #[track_caller]
    pub fn copy_(&self, source: &Tensor) -> Result<Tensor> {
        self.copy_with(source, Blocking::Yes)
    }

    /// [`Tensor::copy_`] that does not wait, where the side on the host is page-locked. Whoever
    /// reads or writes either side later, by whatever means of this crate, waits for the copy.
    ///
    /// # Errors
    /// As [`Tensor::copy_`].
    #[track_caller]
    pub fn copy_with(&self, source: &Tensor, blocking: Blocking) -> Result<Tensor> {
        check_in_place("copy_", self, &[source])?;
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
        self.storage().bump_version();
        Ok(self.clone())
    }
}
