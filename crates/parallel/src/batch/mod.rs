//! Joining samples to batches; pinning, moving and splitting batches; and joining what was computed
//! from the parts: a trait for each, also for nested types.

mod collate;
mod collate_nested;
mod gather;
mod nested;
mod sample_list;
mod split;

use tensor::{Blocking, Device, Result, Tensor};

pub use collate::Collate;
pub use gather::Gather;
pub use sample_list::SampleList;
pub use split::Split;
pub(crate) use split::even_sizes;

/// A batch, or a part of one, that can be copied to page-locked memory.
///
/// Tensors are copied there; text and numbers stay as they are; tuples, `Vec`, `Option` and maps do
/// it with their parts. It can be implemented for other types of batches:
///
/// ```
/// use parallel::PinMemory;
/// use tensor::{Result, Tensor};
///
/// struct Batch {
///     images: Tensor,
///     names: Vec<String>,
/// }
///
/// impl PinMemory for Batch {
///     fn into_pinned(self) -> Result<Self> {
///         Ok(Batch { images: self.images.pin_memory()?, names: self.names })
///     }
/// }
/// ```
pub trait PinMemory: Sized {
    /// The batch with its tensors in page-locked memory.
    ///
    /// # Errors
    /// There is no driver, or the limit of pinned memory is reached.
    fn into_pinned(self) -> Result<Self>;
}

/// A batch, or a part of one, that can be copied to a device.
pub trait ToDevice: Sized {
    /// The batch with its tensors on `device`. With [`Blocking::No`] copies from page-locked memory
    /// are only enqueued.
    ///
    /// # Errors
    /// The device does not exist, or its memory is short.
    fn into_device(self, device: Device, blocking: Blocking) -> Result<Self>;
}

impl PinMemory for Tensor {
    fn into_pinned(self) -> Result<Self> {
        Tensor::pin_memory(&self)
    }
}

impl ToDevice for Tensor {
    fn into_device(self, device: Device, blocking: Blocking) -> Result<Self> {
        self.to_with(device, blocking)
    }
}
