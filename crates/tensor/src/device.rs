//! Where a tensor lies: the CPU, the current CUDA device, or a given one.

use std::fmt;

/// A placement, as users name it. `Cuda(None)` is resolved to the current device when it is used.
///
/// ```
/// use tensor::Device;
/// assert_eq!("cuda:1".parse::<Device>()?, Device::cuda_at(1));
/// assert_eq!(Device::cuda().to_string(), "cuda");
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Device {
    /// The host's own memory.
    #[default]
    Cpu,
    /// A CUDA device: `None` is the one that is current at the time of use.
    Cuda(Option<usize>),
}

impl Device {
    /// "cuda": whichever device is current when it is used.
    pub const fn cuda() -> Device {
        Device::Cuda(None)
    }

    /// "cuda:index". Whether there is such a device shows when it is used.
    pub const fn cuda_at(index: usize) -> Device {
        Device::Cuda(Some(index))
    }

    /// Whether this is a CUDA device, current or given.
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
