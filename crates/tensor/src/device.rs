//! The devices that tensors lie on, as a program names them.

use std::fmt;

/// A device that tensors lie on (`torch.device`): the CPU, a CUDA device with its index, or the
/// CUDA device that is current when the value is used.
///
/// ```
/// use tensor::Device;
/// assert_eq!("cuda:1".parse::<Device>()?, Device::cuda_at(1));
/// assert_eq!(Device::cuda().to_string(), "cuda");
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Device {
    /// The CPU, with the host's memory.
    #[default]
    Cpu,
    /// A CUDA device by its index; `None` is the one that is current at the time of use.
    Cuda(Option<usize>),
}

impl Device {
    /// `"cuda"`: the CUDA device that is current when the value is used.
    pub const fn cuda() -> Device {
        Device::Cuda(None)
    }

    /// `"cuda:index"`. It need not exist: using a device that does not is an error.
    pub const fn cuda_at(index: usize) -> Device {
        Device::Cuda(Some(index))
    }

    /// Whether this is a CUDA device, with an index or without.
    pub const fn is_cuda(self) -> bool {
        matches!(self, Device::Cuda(_))
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => f.write_str("cpu"),
            Device::Cuda(None) => f.write_str("cuda"),
            Device::Cuda(Some(index)) => write!(f, "cuda:{index}"),
        }
    }
}
