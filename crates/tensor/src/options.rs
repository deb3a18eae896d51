//! What a factory may be told about the tensor it makes.

use crate::default::{default_device, default_dtype};
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Device, Result, Tensor};

/// Dtype, device, page-locked memory and gradients of a new tensor; what is not said is chosen by
/// the factory. Factories take anything that converts into options: `()`, a [`DType`], a
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
    /// Nothing said.
    pub const fn new() -> TensorOptions {
        TensorOptions { dtype: None, device: None, pinned: false, requires_grad: false }
    }

    /// The elements' type.
    pub const fn dtype(mut self, dtype: DType) -> TensorOptions {
        self.dtype = Some(dtype);
        self
    }

    /// Where the tensor lies.
    pub const fn device(mut self, device: Device) -> TensorOptions {
        self.device = Some(device);
        self
    }

    /// Whether the memory of a CPU tensor is page-locked.
    pub const fn pinned(mut self, pinned: bool) -> TensorOptions {
        self.pinned = pinned;
        self
    }

    /// Whether the tensor is a leaf that gradients are wanted for.
    pub const fn requires_grad(mut self, requires_grad: bool) -> TensorOptions {
        self.requires_grad = requires_grad;
        self
    }

    /// These options, with what they leave open taken from `tensor`.
    pub(crate) fn or_as(self, tensor: &Tensor) -> TensorOptions {
        TensorOptions {
            dtype: self.dtype.or(Some(tensor.dtype())),
            device: self.device.or(Some(tensor.device())),
            ..self
        }
    }

    /// These options with this dtype, where they leave it open.
    pub(crate) fn or_dtype(self, dtype: DType) -> TensorOptions {
        TensorOptions { dtype: self.dtype.or(Some(dtype)), ..self }
    }

    /// The dtype that was said, or the default one.
    pub(crate) fn resolve_dtype(self) -> DType {
        self.dtype.unwrap_or_else(default_dtype)
    }

    /// The device that was said, or the default one.
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
