//! The form that a gradient must have: that of its tensor.

use crate::resolved_device::ResolvedDevice;
use crate::{DType, Device, Result, Shape, Tensor};

/// The shape, dtype and device of a tensor, which its gradient must have too.
#[derive(Clone)]
pub(crate) struct Form {
    shape: Shape,
    dtype: DType,
    device: ResolvedDevice,
}

impl Form {
    #[inline]
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
            gradient = gradient.summed_to(&self.shape)?;
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

    /// Zeros of this form.
    pub(crate) fn zeros(&self) -> Result<Tensor> {
        Tensor::zeros(&self.shape, (self.dtype, self.device.to_device()))
    }

    /// Shape, dtype and device, for an error message.
    pub(crate) fn describe(&self) -> Box<(Shape, DType, Device)> {
        Box::new((self.shape.clone(), self.dtype, self.device.to_device()))
    }
}
