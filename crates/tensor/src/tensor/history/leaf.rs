//! Where gradients end: the leaf of a graph, and the form that a gradient must have.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::lineage::Lineage;
use crate::placement::Place;
use crate::{DType, Device, Result, Shape, Tensor};

/// What a tensor's gradient must look like: the tensor itself.
pub(crate) struct Form {
    shape: Shape,
    dtype: DType,
    place: Place,
}

impl Form {
    pub(crate) fn of(tensor: &Tensor) -> Form {
        let shape = tensor.layout().shape().clone();
        Form { shape, dtype: tensor.dtype(), place: tensor.place() }
    }

    /// Brings a gradient to this form. A backward function works in the dtype, on the device and in
    /// the broadcast shape of its operation, so it need not know what its operands looked like.
    pub(crate) fn conform(&self, gradient: Tensor) -> Result<Tensor> {
        let mut gradient = gradient;
        if gradient.shape() != &self.shape[..] {
            gradient = gradient.sum_to_size(&self.shape)?;
        }
        if gradient.dtype() != self.dtype || gradient.place() != self.place {
            gradient = gradient.to((self.dtype, self.place.device()))?;
        }
        Ok(gradient)
    }

    pub(crate) fn matches(&self, gradient: &Tensor) -> bool {
        gradient.shape() == &self.shape[..]
            && gradient.dtype() == self.dtype
            && gradient.place() == self.place
    }

    pub(crate) fn device(&self) -> Device {
        self.place.device()
    }

    /// For an error message.
    pub(crate) fn describe(&self) -> Box<(Shape, DType, Device)> {
        Box::new((self.shape.clone(), self.dtype, self.place.device()))
    }
}

/// The end of a graph: a tensor that requires a gradient and was not computed. Graphs hold the leaf
/// and not the tensor, so a tensor that is dropped frees its memory though graphs of it live on.
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
        self.lock().clone()
    }

    pub(crate) fn set(&self, gradient: Option<Tensor>) {
        // The one before is dropped without the lock: it may own values of the program.
        let _before = mem::replace(&mut *self.lock(), gradient);
    }

    /// Adds to the gradient, in the memory that it has. Several threads may: each addition is one
    /// operation in place, and whoever replaces the gradient meanwhile comes after it.
    ///
    /// Nothing is computed under the lock, which would keep those waiting who only ask.
    pub(crate) fn accumulate(&self, gradient: Tensor) -> Result<()> {
        let mut first = None;
        loop {
            if let Some(sum) = self.gradient() {
                sum.add_(&gradient)?;
                return Ok(());
            }
            // Later gradients are added in place, so this one must not be anybody else's memory.
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

    /// Sets the gradient where there is none; gives it back where there is.
    fn set_first(&self, gradient: Tensor) -> Option<Tensor> {
        let mut slot = self.lock();
        match &*slot {
            Some(_) => Some(gradient),
            None => {
                *slot = Some(gradient);
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Tensor>> {
        self.gradient.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
