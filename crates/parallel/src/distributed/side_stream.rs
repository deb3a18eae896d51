//! The stream for what is exchanged.

use tensor::cuda::Stream;
use tensor::{Device, Result, Tensor, no_grad};

/// A stream on which gradients are gathered in buckets, and buffers in one tensor: beside the kernels
/// of the passes, and not between them. What comes after what is the runtime's affair.
pub(super) struct SideStream(Option<Stream>);

impl SideStream {
    /// A stream of the device of these tensors; the CPU has none.
    ///
    /// # Errors
    /// The device cannot be used, or has no stream left.
    pub(super) fn beside(tensors: &[Tensor]) -> Result<SideStream> {
        let device = tensors.first().map_or(Device::Cpu, Tensor::device);
        let stream = match device {
            Device::Cpu => None,
            Device::Cuda(_) => Some(Stream::new(device)?),
        };
        Ok(SideStream(stream))
    }

    /// Runs `f`, which enqueues its work on this stream and records no history.
    ///
    /// # Errors
    /// Those of `f`, and the device's.
    pub(super) fn run<R>(&self, f: impl FnOnce() -> Result<R>) -> Result<R> {
        let _current = self.0.as_ref().map(Stream::enter).transpose()?;
        no_grad(f)
    }
}
