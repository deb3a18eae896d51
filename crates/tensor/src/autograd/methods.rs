//! The methods of tensors that concern gradients.

use std::sync::Arc;

use super::Backward;
use super::history::output_of;
use crate::AutogradError;
use crate::grad_mode::is_inference_mode_enabled;
use crate::tensor::{Form, Meta};
use crate::{Result, Tensor};

impl Tensor {
    /// Whether operations on this tensor are recorded for gradients: it is a leaf that was marked
    /// with [`Tensor::requires_grad_`], or was computed from one.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0]?;
    /// assert!(!x.requires_grad());
    /// assert!(x.requires_grad_(true)?.mul(2.0)?.requires_grad());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[inline]
    pub fn requires_grad(&self) -> bool {
        self.autograd().requires_grad()
            || self.view_of_base().is_some_and(|view| view.base.requires_grad())
    }

    /// Whether the tensor is a leaf of the graph: no recorded operation computed it.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0]?.requires_grad_(true)?;
    /// assert!(x.is_leaf() && !x.mul(2.0)?.is_leaf());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn is_leaf(&self) -> bool {
        output_of(self).is_none()
    }

    /// Whether the tensor's memory was made in [`inference_mode`](crate::inference_mode).
    pub fn is_inference(&self) -> bool {
        self.storage().is_inference()
    }

    /// # Errors
    /// The tensor was made in inference mode, and that is off now.
    pub(crate) fn check_inference(&self, op: &'static str) -> Result<()> {
        if self.is_inference() && !is_inference_mode_enabled() {
            return Err(AutogradError::InferenceTensor { op }.into());
        }
        Ok(())
    }

    /// The name of the recorded operation that computed this tensor, like `"add"` or `"matmul"`;
    /// `None` for a leaf.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0]?.requires_grad_(true)?;
    /// assert_eq!(x.grad_fn(), None);
    /// assert_eq!(x.exp()?.grad_fn(), Some("exp"));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn grad_fn(&self) -> Option<&'static str> {
        output_of(self).map(|output| output.node.name)
    }

    /// Sets whether gradients are computed for this leaf, and gives the same handle.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// x.square()?.sum(())?.backward()?;
    /// assert_eq!(x.grad().expect("a gradient").to_vec::<f32>()?, [2.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating-point one, or the tensor is not a leaf and should lose the mark.
    pub fn requires_grad_(&self, requires_grad: bool) -> Result<Tensor> {
        const OP: &str = "requires_grad_";
        match self.grad_fn() {
            Some(_) if requires_grad => {}
            Some(computed_by) => return Err(AutogradError::NotLeaf { op: OP, computed_by }.into()),
            None if requires_grad && self.is_inference() && !is_inference_mode_enabled() => {
                return Err(AutogradError::InferenceTensor { op: OP }.into());
            }
            None if requires_grad && !self.dtype().is_float() => {
                let dtype = self.dtype();
                return Err(AutogradError::NotDifferentiable { op: OP, dtype }.into());
            }
            None => self.autograd().set_requires_grad(requires_grad),
        }
        Ok(self.clone())
    }

    /// The gradient of a leaf: the sum of those of all backward passes since it was cleared. `None`
    /// before the first pass, and always for a tensor that is not a leaf.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![3.0]?.requires_grad_(true)?;
    /// assert!(x.grad().is_none());
    /// x.mul(2.0)?.sum(())?.backward()?;
    /// assert_eq!(x.grad().expect("a gradient").to_vec::<f32>()?, [2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn grad(&self) -> Option<Tensor> {
        self.autograd().existing_leaf()?.gradient()
    }

    /// Replaces the gradient of a leaf; `None` clears it. The leaf keeps the gradient detached, in
    /// the same memory: the graph through which it was computed may lead back to this leaf, and
    /// then neither would ever be freed.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![3.0]?.requires_grad_(true)?;
    /// x.set_grad(Some(tensor![5.0]?))?;
    /// x.sum(())?.backward()?;
    /// assert_eq!(x.grad().expect("a gradient").to_vec::<f32>()?, [6.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor is not a leaf, or the gradient is the tensor itself or differs from it in shape,
    /// dtype or device.
    pub fn set_grad(&self, gradient: Option<Tensor>) -> Result<()> {
        const OP: &str = "set_grad";
        let Some(gradient) = gradient else {
            self.clear_grad();
            return Ok(());
        };
        if let Some(computed_by) = self.grad_fn() {
            return Err(AutogradError::NotLeaf { op: OP, computed_by }.into());
        }
        let leaf = self.autograd().leaf_of(self);
        if !leaf.form().matches(&gradient) {
            let (expected, found) = (leaf.form().describe(), Form::of(&gradient).describe());
            return Err(AutogradError::GradientMismatch { op: OP, expected, found }.into());
        }
        if gradient.autograd().existing_leaf().is_some_and(|other| Arc::ptr_eq(leaf, other)) {
            return Err(
                AutogradError::OwnGradient { shape: gradient.layout().shape().clone() }.into()
            );
        }
        leaf.set(Some(gradient.detach()));
        Ok(())
    }

    /// Clears the gradient, so that the next backward pass begins anew.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![3.0]?.requires_grad_(true)?;
    /// x.sum(())?.backward()?;
    /// x.clear_grad();
    /// assert!(x.grad().is_none());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn clear_grad(&self) {
        if let Some(leaf) = self.autograd().existing_leaf() {
            leaf.set(None);
        }
    }

    /// The leaf that is used in place of this one, of those that took its place
    /// ([`MovedLeaf::take_over`](crate::MovedLeaf::take_over)): the newest that has a gradient, while
    /// this one has none; or the newest of all if this is the last handle on this one. `None` if
    /// this leaf was not moved, or is still used itself.
    ///
    /// Who keeps leaves for long, as an optimizer does, asks for it before each use.
    ///
    /// ```
    /// use tensor::{DType, tensor};
    /// let x = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// let moved = x.moved_leaf(DType::F64)?.take_over();
    /// let other = x.clone();
    /// assert!(x.successor().is_none(), "somebody else has it, and there is no gradient yet");
    /// moved.sum(())?.backward()?;
    /// assert_eq!(x.successor().map(|leaf| leaf.id()), Some(moved.id()));
    /// # drop(other);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn successor(&self) -> Option<Tensor> {
        let leaf = self.autograd().existing_leaf()?;
        if leaf.gradient().is_some() {
            return None;
        }
        let mut heirs = leaf.heirs();
        let with_gradient = heirs.iter().position(|heir| heir.grad().is_some());
        match with_gradient {
            Some(place) => Some(heirs.swap_remove(place)),
            None if self.is_only_handle() => heirs.into_iter().next(),
            None => None,
        }
    }

    /// Computes the gradients of this single number with respect to every leaf it was computed
    /// from, and adds them to the leaves' [`Tensor::grad`]. The graph is freed; to go through it
    /// again see [`Backward::retain_graph`]. Enqueues only; see [`Backward::run`].
    ///
    /// ```
    /// use tensor::tensor;
    /// let (x, w) = (tensor![2.0, 3.0]?, tensor![1.0, 1.0]?.requires_grad_(true)?);
    /// (&x * &w)?.sum(())?.backward()?;
    /// assert_eq!(w.grad().expect("a gradient").to_vec::<f32>()?, [2.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Backward::run`].
    #[track_caller]
    pub fn backward(&self) -> Result<()> {
        Backward::new().output(self).run()
    }

    /// [`Tensor::backward`] for a tensor of any shape, given the gradient with respect to it.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// x.square()?.backward_with(&tensor![1.0, 10.0]?)?;
    /// assert_eq!(x.grad().expect("a gradient").to_vec::<f32>()?, [2.0, 40.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Backward::run`].
    #[track_caller]
    pub fn backward_with(&self, gradient: &Tensor) -> Result<()> {
        Backward::new().output_with(self, gradient).run()
    }

    /// Makes a leaf that requires gradients of this new tensor.
    ///
    /// # Errors
    /// The dtype is not a floating-point one.
    pub(crate) fn into_leaf(self, op: &'static str) -> Result<Tensor> {
        let dtype = self.dtype();
        if !dtype.is_float() {
            return Err(AutogradError::NotDifferentiable { op, dtype }.into());
        }
        Ok(self.with_autograd(Meta::leaf(true)))
    }
}
