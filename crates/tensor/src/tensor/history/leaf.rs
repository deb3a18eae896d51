//! Leaves of the graph, at which gradients are accumulated (PyTorch's `AccumulateGrad`).

use std::mem;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::form::Form;
use super::hooks::GradientHooks;
use super::lineage::Lineage;
use crate::grad_mode::is_grad_enabled;
use crate::layout::Layout;
use crate::tensor::WeakTensor;
use crate::{Result, Tensor};

/// A leaf of the graph: the gradient of a tensor that no operation computed. Graphs hold the leaf
/// and not the tensor, so that a tensor which is dropped frees its memory even if graphs of it live
/// on.
pub(crate) struct Leaf {
    form: Form,
    /// The layout that the gradient has, if that is dense but not row-major: the tensor's own.
    layout: Option<Box<Layout>>,
    gradient: Mutex<Option<Tensor>>,
    lineage: Lineage<WeakTensor>,
    /// The hooks on gradients that arrive.
    hooks: OnceLock<Arc<GradientHooks>>,
    /// The hooks that run when a gradient was added.
    after: OnceLock<Arc<GradientHooks>>,
}

impl Leaf {
    pub(crate) fn new(tensor: &Tensor) -> Leaf {
        let layout = tensor.layout();
        let own = !layout.is_contiguous() && layout.is_dense();
        Leaf {
            form: Form::of(tensor),
            layout: own.then(|| Box::new(layout.clone())),
            gradient: Mutex::new(None),
            lineage: Lineage::default(),
            hooks: OnceLock::new(),
            after: OnceLock::new(),
        }
    }

    /// The hooks on gradients that arrive, if there are any.
    pub(crate) fn existing_hooks(&self) -> Option<&Arc<GradientHooks>> {
        self.hooks.get()
    }

    pub(crate) fn hooks(&self) -> &Arc<GradientHooks> {
        self.hooks.get_or_init(Arc::default)
    }

    /// The hooks that run when a gradient was added (`register_post_accumulate_grad_hook`).
    pub(crate) fn hooks_after(&self) -> &Arc<GradientHooks> {
        self.after.get_or_init(Arc::default)
    }

    pub(crate) fn form(&self) -> &Form {
        &self.form
    }

    /// Notes that `heir`, a new tensor whose leaf is `of_heir`, takes the place of this leaf's
    /// tensor: it takes over the gradient and the hooks.
    pub(crate) fn pass_on(&self, heir: &Tensor, of_heir: &Leaf, gradient: Option<Tensor>) {
        for (own, theirs) in [(&self.hooks, &of_heir.hooks), (&self.after, &of_heir.after)] {
            if let Some(hooks) = own.get() {
                // The heir is new, so it has no hooks yet.
                let _ = theirs.set(Arc::clone(hooks));
            }
        }
        of_heir.set(gradient);
        self.set(None);
        self.lineage.pass_on(heir.downgrade(), &of_heir.lineage, WeakTensor::is_alive);
    }

    /// The tensors that took this leaf's place and still live, the newest first.
    pub(crate) fn heirs(&self) -> Vec<Tensor> {
        self.lineage.heirs(WeakTensor::upgrade)
    }

    pub(crate) fn gradient(&self) -> Option<Tensor> {
        self.gradient.lock().clone()
    }

    pub(crate) fn set(&self, gradient: Option<Tensor>) {
        // The one before is dropped after the lock: it may own values of the program, whose
        // destructors may do anything.
        let _before = mem::replace(&mut *self.gradient.lock(), gradient);
    }

    /// Adds to the gradient, in its own memory. Several threads may do so at a time: each addition
    /// is one operation in place, and if another thread replaces the gradient meanwhile, that
    /// counts as later. While gradients are recorded (`create_graph`) the sum is a new tensor with
    /// the history of both.
    ///
    /// Nothing is computed under the lock, so that threads which only read the gradient do not
    /// wait.
    pub(crate) fn accumulate(&self, gradient: Tensor) -> Result<()> {
        self.add(gradient)?;
        if let (Some(after), Some(sum)) = (self.after.get(), self.gradient()) {
            after.call(0, sum)?;
        }
        Ok(())
    }

    fn add(&self, gradient: Tensor) -> Result<()> {
        let mut first = None;
        loop {
            if let Some(sum) = self.gradient() {
                if is_grad_enabled() {
                    self.set(Some(sum.add(&gradient)?));
                } else {
                    sum.add_(&gradient)?;
                }
                return Ok(());
            }
            let own = match first.take() {
                Some(own) => own,
                None => self.owned(&gradient)?,
            };
            match self.set_first(own) {
                None => return Ok(()),
                refused => first = refused,
            }
        }
    }

    /// A gradient in memory that nobody else has, since later ones are added in place, and in the
    /// layout of the leaf.
    fn owned(&self, gradient: &Tensor) -> Result<Tensor> {
        if is_grad_enabled() {
            return gradient.clone_data();
        }
        let is_ours = match &self.layout {
            Some(layout) => gradient.strides() == layout.strides(),
            None => gradient.is_contiguous(),
        };
        match &self.layout {
            _ if is_ours && gradient.is_sole_owner() => Ok(gradient.clone()),
            Some(layout) => gradient.clone_in_order_of(layout),
            None if gradient.is_contiguous() => gradient.clone_data(),
            None => gradient.contiguous(),
        }
    }

    /// Sets the gradient if there is none yet, and gives it back if there is.
    fn set_first(&self, gradient: Tensor) -> Option<Tensor> {
        let mut slot = self.gradient.lock();
        match &*slot {
            Some(_) => Some(gradient),
            None => {
                *slot = Some(gradient);
                None
            }
        }
    }
}
