//! Streams of the devices that tensors lie on.

use std::ops::Deref;

use gpu_runtime::StreamGuard;

use super::physical;
use crate::storage::{HostMemory, StorageMemory};
use crate::{Device, Error, Result, Tensor};

/// A queue of work on a CUDA device: [`gpu_runtime::Stream`], made for a [`Device`].
///
/// Operations of a thread are enqueued on the stream that is current for their device: the default
/// stream, or the one that was entered last. Work on different streams may run at the same time.
/// Two operations that use the same tensor run in the order of the calls, also on different
/// streams.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// use tensor::{Device, Tensor, cuda};
/// let side = cuda::Stream::new(Device::cuda())?;
/// let x = Tensor::ones([3], Device::cuda())?;
/// let sum = {
///     let _in = side.enter()?;
///     x.sum(())?
/// };
/// assert_eq!(sum.item::<f32>()?, 3.0);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stream(gpu_runtime::Stream);

impl Stream {
    /// A new stream.
    ///
    /// # Errors
    /// `device` is not a CUDA device that there is; the driver has no stream left.
    pub fn new(device: Device) -> Result<Stream> {
        Ok(Stream(gpu_runtime::Stream::new(physical("Stream::new", device)?)?))
    }

    /// A new stream with a priority: work on streams with a lower number goes first.
    ///
    /// # Errors
    /// As [`Stream::new`].
    pub fn with_priority(device: Device, priority: i32) -> Result<Stream> {
        let device = physical("Stream::with_priority", device)?;
        Ok(Stream(gpu_runtime::Stream::with_priority(device, priority)?))
    }

    /// Makes the stream, and its device, this thread's current ones until the guard is dropped.
    ///
    /// # Errors
    /// The device is lost.
    pub fn enter(&self) -> Result<StreamGuard> {
        Ok(self.0.enter()?)
    }

    /// The device of the stream, with its index.
    pub fn device(&self) -> Device {
        Device::cuda_at(self.0.device().index())
    }
}

impl Deref for Stream {
    type Target = gpu_runtime::Stream;

    fn deref(&self) -> &gpu_runtime::Stream {
        &self.0
    }
}

impl AsRef<gpu_runtime::Stream> for Stream {
    fn as_ref(&self) -> &gpu_runtime::Stream {
        &self.0
    }
}

impl From<gpu_runtime::Stream> for Stream {
    fn from(stream: gpu_runtime::Stream) -> Stream {
        Stream(stream)
    }
}

impl Tensor {
    /// Announces that work on `stream` uses the tensor's memory without the library knowing, as
    /// kernels of other libraries do: when the last tensor with this memory is dropped, it is not
    /// given to another one before everything is done that is then on the stream.
    ///
    /// Operations of tensors need no such announcement, whichever stream they run on and in
    /// whichever [`Order`](super::Order). It waits for nothing, and puts nothing in order.
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
    /// use tensor::{Device, Tensor, cuda};
    /// let side = cuda::Stream::new(Device::cuda())?;
    /// let x = Tensor::ones([3], Device::cuda())?;
    /// let current = cuda::current_stream(Device::cuda())?;
    /// side.wait_stream(&current)?;
    /// x.record_stream(&side)?;
    /// // ... here a library enqueues on `side.as_raw()` what reads `x` ...
    /// drop(x);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor is in host memory that is not page-locked, which no device can use.
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        let uses = match self.storage().memory() {
            StorageMemory::Cuda(memory) => {
                memory.record_stream(&stream.0);
                return Ok(());
            }
            StorageMemory::Host(HostMemory::Pinned(memory)) => memory.uses(),
            StorageMemory::Host(HostMemory::Pageable(_)) => {
                return Err(Error::InvalidArgument {
                    op: "record_stream",
                    argument: "self",
                    value: self.device().to_string(),
                    why: "it must be on a CUDA device or in page-locked memory",
                });
            }
        };
        uses.record_stream(&stream.0);
        Ok(())
    }
}

/// The current stream of a device, on which this thread's operations are enqueued.
///
/// # Errors
/// `device` is not a CUDA device that there is.
pub fn current_stream(device: Device) -> Result<Stream> {
    Ok(Stream(physical("current_stream", device)?.current_stream()?))
}

/// The default stream of a device, which is the current one of a thread that has entered no other.
///
/// # Errors
/// `device` is not a CUDA device that there is.
pub fn default_stream(device: Device) -> Result<Stream> {
    Ok(Stream(physical("default_stream", device)?.default_stream()?))
}
