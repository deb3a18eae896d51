//! What a loader does with samples and batches: join, pin, move. A trait each, for nested types too.

mod collate;
mod nested;

use tensor::{Blocking, Device, Result, Tensor};

pub use collate::Collate;

/// A batch, or a part of one, that can be put into page-locked memory.
///
/// Tensors are copied there; text and numbers pass unchanged; tuples, `Vec`, `Option` and maps do
/// it with their parts. Implement it for a batch type of your own:
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
    /// The same in page-locked memory.
    ///
    /// # Errors
    /// There is no driver, or the limit of pinned memory is reached.
    fn into_pinned(self) -> Result<Self>;
}

/// A batch, or a part of one, that can be moved to a device.
pub trait ToDevice: Sized {
    /// The same on `device`. Where `blocking` is [`Blocking::No`], copies from pinned memory are
    /// only enqueued.
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
