//! Copies of tensors to other devices, dtypes and kinds of memory.

use gpu_runtime::{Capture, CaptureProblem};

use super::convert::{convert, copy_into, dense};
use super::pending_tensor::PendingTensor;
use crate::autograd::record;
use crate::dispatch::{Blocking, transfer};
use crate::resolved_device::ResolvedDevice;
use crate::storage::Fresh;
use crate::{DType, Device, Error, Result, Tensor};

/// The target of [`Tensor::to`]: a [`Device`], a [`DType`], or both in a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct To {
    device: Option<Device>,
    dtype: Option<DType>,
}

impl To {
    /// The device, if one is asked for.
    pub fn device(self) -> Option<Device> {
        self.device
    }

    /// The dtype, if one is asked for.
    pub fn dtype(self) -> Option<DType> {
        self.dtype
    }
}

impl From<Device> for To {
    fn from(device: Device) -> To {
        To { device: Some(device), dtype: None }
    }
}

impl From<DType> for To {
    fn from(dtype: DType) -> To {
        To { device: None, dtype: Some(dtype) }
    }
}

impl From<(DType, Device)> for To {
    fn from((dtype, device): (DType, Device)) -> To {
        To { device: Some(device), dtype: Some(dtype) }
    }
}

impl From<(Device, DType)> for To {
    fn from((device, dtype): (Device, DType)) -> To {
        To { device: Some(device), dtype: Some(dtype) }
    }
}

/// Copies to other devices, dtypes and kinds of memory. Gradients flow through all of them. A
/// tensor that is already as asked for is returned itself.
impl Tensor {
    /// The tensor on a device, in a dtype, or both. A copy from or to the host is done when this
    /// returns. A copy between devices is enqueued, on the current stream of the device that the
    /// tensor lies on.
    ///
    /// ```
    /// use tensor::{DType, Device, tensor};
    /// let x = tensor![1.5, 2.5]?;
    /// assert_eq!(x.to(DType::I64)?.to_vec::<i64>()?, [1, 2]);
    /// assert_eq!(x.to((DType::F64, Device::Cpu))?.dtype(), DType::F64);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such device; memory or the runtime failed.
    #[track_caller]
    pub fn to(&self, target: impl Into<To>) -> Result<Tensor> {
        self.to_with(target, Blocking::Yes)
    }

    /// [`Tensor::to`] with the choice not to wait (`non_blocking`).
    ///
    /// A copy that is not waited for keeps both ends alive, and comes before everything that uses
    /// either end later: reading the result on the host waits for it, and so does writing a
    /// page-locked source. A result on the host lies in page-locked memory.
    ///
    /// # Errors
    /// As [`Tensor::to`]; or the limit of page-locked memory is reached. While work on the tensor's
    /// device is captured into a graph, nothing would arrive in the new memory of the host:
    /// [`Tensor::copy_with`] copies at each launch, to page-locked memory that is there already.
    #[track_caller]
    pub fn to_with(&self, target: impl Into<To>, blocking: Blocking) -> Result<Tensor> {
        let target = target.into();
        let device = target.device.map_or(Ok(self.resolved_device()), ResolvedDevice::of)?;
        let dtype = target.dtype.unwrap_or(self.dtype());
        if device == self.resolved_device() && dtype == self.dtype() {
            return Ok(self.clone());
        }
        let output = moved(self, device, dtype, blocking)?;
        Ok(record("to", [self], output, |_| |grad: &Tensor, _| Ok([Some(grad.clone())])))
    }

    /// The tensor on the current CUDA device.
    ///
    /// # Errors
    /// As [`Tensor::to`].
    #[track_caller]
    pub fn cuda(&self) -> Result<Tensor> {
        self.to(Device::cuda())
    }

    /// The tensor on a given CUDA device.
    ///
    /// # Errors
    /// As [`Tensor::to`].
    #[track_caller]
    pub fn cuda_at(&self, index: usize) -> Result<Tensor> {
        self.to(Device::cuda_at(index))
    }

    /// The tensor on the CPU; blocks until its elements are there.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.cpu()?.id(), x.id(), "it is there already");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::to`].
    #[track_caller]
    pub fn cpu(&self) -> Result<Tensor> {
        self.to(Device::Cpu)
    }

    /// A copy in page-locked host memory, which copies to devices can use asynchronously; the
    /// tensor itself if it lies there already.
    ///
    /// # Errors
    /// The tensor is not on the CPU; the limit of page-locked memory is reached; there is no
    /// driver.
    #[track_caller]
    pub fn pin_memory(&self) -> Result<Tensor> {
        if self.is_pinned() {
            return Ok(self.clone());
        }
        if self.is_cuda() {
            return Err(Error::NotOnHost { op: "pin_memory", device: self.device() });
        }
        let pinned =
            Tensor::pinned(self.layout().shape().clone(), self.dtype(), Fresh::Overwritten)?;
        copy_into(&pinned, self)?;
        Ok(record("pin_memory", [self], pinned, |_| |grad: &Tensor, _| Ok([Some(grad.clone())])))
    }

    /// Enqueues a copy to page-locked host memory, and gives the tensor that it will be, without
    /// waiting.
    ///
    /// # Errors
    /// As [`Tensor::to_with`].
    #[track_caller]
    pub fn to_host_async(&self) -> Result<PendingTensor> {
        let copy = self.to_with(Device::Cpu, Blocking::No)?;
        Ok(PendingTensor::new(copy))
    }
}

/// Copies `source`, broadcast and converted, into `target` on another device.
#[track_caller]
pub(super) fn bring(target: &Tensor, source: &Tensor, blocking: Blocking) -> Result<()> {
    let alike = source.shape() == target.shape() && source.dtype() == target.dtype();
    if alike && target.is_contiguous() {
        return transfer(target, &staged(source, source.dtype())?, blocking);
    }
    copy_into(target, &moved(source, target.resolved_device(), target.dtype(), blocking)?)
}

/// A new dense tensor of the elements on another device, in another dtype, or both.
#[track_caller]
fn moved(
    source: &Tensor,
    device: ResolvedDevice,
    dtype: DType,
    blocking: Blocking,
) -> Result<Tensor> {
    if device == source.resolved_device() {
        return convert(source, dtype);
    }
    if let (ResolvedDevice::Cuda(device), ResolvedDevice::Cpu) = (source.resolved_device(), device)
        && Capture::of(&*device.current_stream_ref()?)?.is_some()
    {
        let hint = "; copy_with copies at each launch, to page-locked memory that is there already";
        let problem = CaptureProblem::Once { hint };
        return Err(gpu_runtime::Error::Capture { operation: "to", problem }.into());
    }
    // Conversions run on a GPU if there is one: before a copy from it, and after one to it.
    let sent = if source.is_cuda() { dtype } else { source.dtype() };
    let staged = staged(source, sent)?;
    let shape = staged.layout().shape().clone();
    let landed = match (device, blocking) {
        (ResolvedDevice::Cpu, Blocking::No) => Tensor::pinned(shape, sent, Fresh::Overwritten)?,
        _ => Tensor::uninit(shape, sent, device)?,
    };
    transfer(&landed, &staged, blocking)?;
    if sent == dtype { Ok(landed) } else { convert(&landed, dtype) }
}

/// The source as a contiguous tensor of `dtype`, in memory of the same kind.
#[track_caller]
fn staged(source: &Tensor, dtype: DType) -> Result<Tensor> {
    if !source.is_pinned() || source.is_contiguous() {
        return dense(source, dtype);
    }
    let pinned = Tensor::pinned(source.layout().shape().clone(), dtype, Fresh::Overwritten)?;
    copy_into(&pinned, source)?;
    Ok(pinned)
}
