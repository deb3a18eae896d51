//! The options of functions that make tensors.

use crate::default::{default_device, default_dtype};
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Device, Result, Tensor};

/// The dtype, device, kind of memory and gradients of a new tensor (`torch::TensorOptions`). What
/// the options leave open is chosen by the factory: the default dtype and device, ordinary memory,
/// no gradients. Factories take anything that converts into options: `()`, a [`DType`], a
/// [`Device`], or both in a pair.
///
/// ```
/// use tensor::{DType, Device, Tensor, TensorOptions};
/// let a = Tensor::zeros([2, 2], ())?;
/// let b = Tensor::zeros([2, 2], (DType::F64, Device::Cpu))?;
/// let c = Tensor::zeros([2, 2], TensorOptions::new().dtype(DType::F64).requires_grad(true))?;
/// assert!(c.requires_grad() && c.dtype() == b.dtype() && a.dtype() == DType::F32);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TensorOptions {
    dtype: Option<DType>,
    device: Option<Device>,
    pinned: bool,
    requires_grad: bool,
}

impl TensorOptions {
    /// Options that leave everything open.
    pub const fn new() -> TensorOptions {
        TensorOptions { dtype: None, device: None, pinned: false, requires_grad: false }
    }

    /// Sets the type of the elements.
    pub const fn dtype(mut self, dtype: DType) -> TensorOptions {
        self.dtype = Some(dtype);
        self
    }

    /// Sets the device that the tensor lies on.
    pub const fn device(mut self, device: Device) -> TensorOptions {
        self.device = Some(device);
        self
    }

    /// Sets whether the memory of a CPU tensor is page-locked.
    pub const fn pinned(mut self, pinned: bool) -> TensorOptions {
        self.pinned = pinned;
        self
    }

    /// Sets whether the tensor requires gradients.
    pub const fn requires_grad(mut self, requires_grad: bool) -> TensorOptions {
        self.requires_grad = requires_grad;
        self
    }

    /// The options with the dtype and device of `tensor`, if they leave them open.
    pub(crate) fn or_as(self, tensor: &Tensor) -> TensorOptions {
        TensorOptions {
            dtype: self.dtype.or(Some(tensor.dtype())),
            device: self.device.or(Some(tensor.device())),
            ..self
        }
    }

    /// The options with this dtype, if they leave it open.
    pub(crate) fn or_dtype(self, dtype: DType) -> TensorOptions {
        TensorOptions { dtype: self.dtype.or(Some(dtype)), ..self }
    }

    /// The dtype that was set, or the default one.
    pub(crate) fn resolve_dtype(self) -> DType {
        self.dtype.unwrap_or_else(default_dtype)
    }

    /// The device that was set, or the default one.
    ///
    /// # Errors
    /// There is no such device.
    pub(crate) fn resolve_device(self) -> Result<ResolvedDevice> {
        ResolvedDevice::of(self.device.unwrap_or_else(default_device))
    }

    pub(crate) fn is_pinned(self) -> bool {
        self.pinned
    }

    pub(crate) fn wants_grad(self) -> bool {
        self.requires_grad
    }
}

impl From<()> for TensorOptions {
    fn from((): ()) -> TensorOptions {
        TensorOptions::new()
    }
}

impl From<DType> for TensorOptions {
    fn from(dtype: DType) -> TensorOptions {
        TensorOptions::new().dtype(dtype)
    }
}

impl From<Device> for TensorOptions {
    fn from(device: Device) -> TensorOptions {
        TensorOptions::new().device(device)
    }
}

impl From<(DType, Device)> for TensorOptions {
    fn from((dtype, device): (DType, Device)) -> TensorOptions {
        TensorOptions::new().dtype(dtype).device(device)
    }
}

impl From<(Device, DType)> for TensorOptions {
    fn from((device, dtype): (Device, DType)) -> TensorOptions {
        TensorOptions::new().dtype(dtype).device(device)
    }
}
