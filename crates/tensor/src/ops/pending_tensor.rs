//! A tensor on its way to the host.

use gpu_runtime::StreamPoint;

use crate::storage::HostMemory;
use crate::{Result, Tensor};

/// A tensor in host memory whose copy from a device is enqueued, and may not be done yet: the
/// result of [`Tensor::to_host_async`].
///
/// Reading a tensor waits for the copies into it anyway; this type makes the wait visible, and can
/// be asked whether it would take time. It may be dropped or forgotten: the copy owns both its
/// ends.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// use tensor::{Device, Tensor};
///
/// let x = Tensor::ones([3], Device::cuda())?;
/// let pending = x.to_host_async()?;
/// // ... the host does something else meanwhile ...
/// assert_eq!(pending.wait()?.to_vec::<f32>()?, [1.0; 3]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "the copy is under way; wait() gives its result"]
pub struct PendingTensor {
    tensor: Tensor,
    /// The points in streams that the copies into the tensor's memory end at.
    points: Vec<StreamPoint>,
}

impl PendingTensor {
    /// A tensor in host memory, with the copies that are under way into it.
    pub(super) fn new(tensor: Tensor) -> PendingTensor {
        let points = match tensor.storage().host() {
            Some(HostMemory::Pinned(memory)) => memory.copies(),
            _ => Vec::new(),
        };
        PendingTensor { tensor, points }
    }

    /// Blocks until the copy is done, and gives the tensor.
    ///
    /// # Errors
    /// The device failed before the copy was done.
    #[track_caller]
    pub fn wait(self) -> Result<Tensor> {
        for point in &self.points {
            point.wait()?;
        }
        Ok(self.tensor)
    }

    /// Whether the copy is done, so that [`PendingTensor::wait`] would return at once. It does not
    /// block.
    ///
    /// # Errors
    /// The device failed before the copy was done.
    pub fn is_ready(&self) -> Result<bool> {
        for point in &self.points {
            if !point.is_complete()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
