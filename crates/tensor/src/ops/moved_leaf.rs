//! Leaves that are moved to other devices and dtypes, and keep their identity for gradients.

use super::movement::To;
use crate::{AutogradError, Result, Tensor};

/// A leaf and its copy on another device or in another dtype, which can take the leaf's place.
/// [`Tensor::moved_leaf`] makes it; if it is dropped, nothing has happened.
#[derive(Debug)]
#[must_use = "the copy takes the leaf's place by `take_over`"]
pub struct MovedLeaf {
    leaf: Tensor,
    copy: Tensor,
    gradient: Option<Tensor>,
}

impl Tensor {
    /// A copy of this leaf, with its gradient, on a device, in a dtype, or both, which can take its
    /// place ([`MovedLeaf::take_over`]), as when a module is moved. It requires gradients if this
    /// leaf does. If this leaf is as asked for already, it is the copy itself.
    ///
    /// ```
    /// use tensor::{DType, tensor};
    /// let x = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// x.square()?.sum(())?.backward()?;
    /// let moved = x.moved_leaf(DType::F64)?.take_over();
    /// assert!(moved.is_leaf() && moved.requires_grad());
    /// assert_eq!(moved.grad().expect("it came along").to_vec::<f64>()?, [2.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor is not a leaf, the device does not exist, or its memory is short; or gradients
    /// are required, and the dtype is not a floating-point one.
    #[track_caller]
    pub fn moved_leaf(&self, target: impl Into<To>) -> Result<MovedLeaf> {
        if let Some(computed_by) = self.grad_fn() {
            return Err(AutogradError::NotLeaf { op: "moved_leaf", computed_by }.into());
        }
        let target = target.into();
        let bare = self.detach();
        let copy = bare.to(target)?;
        if copy.id() == bare.id() {
            return Ok(MovedLeaf { leaf: self.clone(), copy: self.clone(), gradient: None });
        }
        let copy = copy.requires_grad_(self.requires_grad())?;
        let gradient = match self.grad() {
            Some(gradient) => Some(gradient.detach().to(target)?),
            None => None,
        };
        Ok(MovedLeaf { leaf: self.clone(), copy, gradient })
    }
}

impl MovedLeaf {
    /// The copy, which is a leaf too; the leaf itself if it was as asked for already.
    pub fn tensor(&self) -> &Tensor {
        &self.copy
    }

    /// Puts the copy in the leaf's place, and gives it. Handles on the leaf stay valid, but its
    /// gradient and its hooks are the copy's from now on, and whoever kept the leaf finds the copy
    /// by [`Tensor::successor`].
    pub fn take_over(self) -> Tensor {
        let MovedLeaf { leaf, copy, gradient } = self;
        if leaf.id() != copy.id() {
            let of_copy = copy.autograd().leaf_of(&copy);
            leaf.autograd().leaf_of(&leaf).pass_on(&copy, of_copy, gradient);
        }
        copy
    }
}
