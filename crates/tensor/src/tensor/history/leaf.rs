//! Leaves of the graph, at which gradients are accumulated (PyTorch's `AccumulateGrad`), and the
//! form that a gradient must have.

use std::mem;

use parking_lot::Mutex;

use super::lineage::Lineage;
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Device, Result, Shape, Tensor};

/// The shape, dtype and device of a tensor, which its gradient must have too.
pub(crate) struct Form {
    shape: Shape,
    dtype: DType,
    device: ResolvedDevice,
}

impl Form {
    pub(crate) fn of(tensor: &Tensor) -> Form {
        let shape = tensor.layout().shape().clone();
        Form { shape, dtype: tensor.dtype(), device: tensor.resolved_device() }
    }

    /// Brings a gradient to this form: sums it over broadcast dimensions, converts and moves it. A
    /// backward function works in the dtype, on the device and in the broadcast shape of its
    /// operation, so that it need not know those of its operands.
    pub(crate) fn conform(&self, gradient: Tensor) -> Result<Tensor> {
        let mut gradient = gradient;
        if gradient.shape() != &self.shape[..] {
            gradient = gradient.sum_to_size(&self.shape)?;
        }
        if gradient.dtype() != self.dtype || gradient.resolved_device() != self.device {
            gradient = gradient.to((self.dtype, self.device.to_device()))?;
        }
        Ok(gradient)
    }

    /// Whether a gradient has this form.
    pub(crate) fn matches(&self, gradient: &Tensor) -> bool {
        gradient.shape() == &self.shape[..]
            && gradient.dtype() == self.dtype
            && gradient.resolved_device() == self.device
    }

    pub(crate) fn device(&self) -> Device {
        self.device.to_device()
    }

    /// Shape, dtype and device, for an error message.
    pub(crate) fn describe(&self) -> Box<(Shape, DType, Device)> {
        Box::new((self.shape.clone(), self.dtype, self.device.to_device()))
    }
}

/// A leaf of the graph: the gradient of a tensor that no operation computed. Graphs hold the leaf
/// and not the tensor, so that a tensor which is dropped frees its memory even if graphs of it live
/// on.
pub(crate) struct Leaf {
    form: Form,
    gradient: Mutex<Option<Tensor>>,
    lineage: Lineage,
}

impl Leaf {
    pub(crate) fn new(form: Form) -> Leaf {
        Leaf { form, gradient: Mutex::new(None), lineage: Lineage::default() }
    }

    pub(crate) fn form(&self) -> &Form {
        &self.form
    }

    pub(crate) fn lineage(&self) -> &Lineage {
        &self.lineage
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
    /// counts as later.
    ///
    /// Nothing is computed under the lock, so that threads which only read the gradient do not
    /// wait.
    pub(crate) fn accumulate(&self, gradient: Tensor) -> Result<()> {
        let mut first = None;
        loop {
            if let Some(sum) = self.gradient() {
                sum.add_(&gradient)?;
                return Ok(());
            }
            // Later gradients are added in place, so nobody else may have this memory.
            let own = match first.take() {
                Some(own) => own,
                None if gradient.is_sole_owner() && gradient.is_contiguous() => gradient.clone(),
                None => gradient.clone_data()?,
            };
            match self.set_first(own) {
                None => return Ok(()),
                refused => first = refused,
            }
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
