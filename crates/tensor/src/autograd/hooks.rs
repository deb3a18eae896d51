//! Hooks on tensors: functions of the program that a backward pass calls with their gradients.

use std::sync::Arc;

use super::history::output_of;
use crate::AutogradError;
use crate::hook_list::RemovableHandle;
use crate::tensor::Hook;
use crate::{Result, Tensor};

/// Hooks.
impl Tensor {
    /// Registers a function that each backward pass calls with the gradient of this tensor once it
    /// is complete, and that may give another gradient in its place. It runs in the grad mode of
    /// the pass. Hooks run in the order in which they were registered.
    ///
    /// After an operation in place it belongs to the values before it.
    ///
    /// A hook of a leaf that owns a handle on that leaf keeps it alive for good.
    ///
    /// # Errors
    /// The tensor requires no gradients. What the hook gives must be brought to the tensor's shape
    /// by a sum, else the backward pass fails; so it does with the hook's own error.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// let y = x.mul(3.0)?;
    /// let handle = y.register_hook(|grad| Ok(Some(grad.mul(10.0)?)))?;
    /// y.sum(())?.backward()?;
    /// assert_eq!(x.grad().expect("was computed").to_vec::<f32>()?, [30.0, 30.0]);
    /// handle.remove();
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn register_hook(
        &self,
        hook: impl Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync + 'static,
    ) -> Result<RemovableHandle> {
        if !self.requires_grad() {
            return Err(AutogradError::RequiresNoGrad { op: "register_hook" }.into());
        }
        let hook: Arc<Hook> = Arc::new(hook);
        Ok(match output_of(self) {
            Some(output) => output.node.hooks().add(output.index, hook),
            None => self.autograd().leaf_of(self).hooks().add(0, hook),
        })
    }

    /// Registers a function that is called with this leaf after each backward pass that added to
    /// its gradient, as soon as that is done, while the pass goes on. It runs without recording.
    /// An optimizer's step for this one parameter can be made there.
    ///
    /// # Errors
    /// The tensor requires no gradients, or is not a leaf. An error of the hook ends the pass.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// x.register_post_accumulate_grad_hook(|x| {
    ///     let grad = x.grad().expect("it was just added to");
    ///     x.add_scaled_(&grad, -0.5)?;
    ///     x.clear_grad();
    ///     Ok(())
    /// })?;
    /// x.sum(())?.backward()?;
    /// assert_eq!(x.detach().to_vec::<f32>()?, [0.5, 1.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn register_post_accumulate_grad_hook(
        &self,
        hook: impl Fn(&Tensor) -> Result<()> + Send + Sync + 'static,
    ) -> Result<RemovableHandle> {
        const OP: &str = "register_post_accumulate_grad_hook";
        if !self.requires_grad() {
            return Err(AutogradError::RequiresNoGrad { op: OP }.into());
        }
        if let Some(computed_by) = self.grad_fn() {
            return Err(AutogradError::NotLeaf { op: OP, computed_by }.into());
        }
        // The leaf must not own its tensor.
        let leaf = self.downgrade();
        let hook: Arc<Hook> = Arc::new(move |_: &Tensor| {
            if let Some(leaf) = leaf.upgrade() {
                crate::no_grad(|| hook(&leaf))?;
            }
            Ok(None)
        });
        Ok(self.autograd().leaf_of(self).hooks_after().add(0, hook))
    }

    /// Keeps the gradient of a tensor that is not a leaf: backward passes add it to
    /// [`Tensor::grad`]. After an operation in place that is the gradient of the new values. On a leaf it does
    /// nothing.
    ///
    /// # Errors
    /// The tensor requires no gradients.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![2.0]?.requires_grad_(true)?;
    /// let y = x.square()?;
    /// y.retain_grad()?;
    /// y.mul(5.0)?.sum(())?.backward()?;
    /// assert_eq!(y.grad().expect("it is kept").to_vec::<f32>()?, [5.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn retain_grad(&self) -> Result<()> {
        if !self.requires_grad() {
            return Err(AutogradError::RequiresNoGrad { op: "retain_grad" }.into());
        }
        if output_of(self).is_some() {
            self.autograd().retain_grad(self);
        }
        Ok(())
    }

    /// Whether the tensor is not a leaf, and its gradient is kept ([`Tensor::retain_grad`]).
    pub fn retains_grad(&self) -> bool {
        self.autograd().retains_grad()
    }
}
