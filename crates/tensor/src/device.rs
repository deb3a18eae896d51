//! Where a tensor lies: the CPU, the current CUDA device, or a given one.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

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

    /// The placement with "cuda" replaced by the device that is current now.
    ///
    /// # Errors
    /// The device does not exist, or there is no driver.
    pub fn resolve(self) -> Result<Device> {
        Ok(Place::of(self)?.device())
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

impl FromStr for Device {
    type Err = Error;

    fn from_str(text: &str) -> Result<Device> {
        let index = |digits: &str| digits.parse().ok().map(Device::cuda_at);
        match text {
            "cpu" => Some(Device::Cpu),
            "cuda" => Some(Device::cuda()),
            _ => text.strip_prefix("cuda:").and_then(index),
        }
        .ok_or_else(|| Error::InvalidArgument {
            op: "Device::from_str",
            argument: "text",
            value: text.to_owned(),
            why: "a device is written `cpu`, `cuda` or `cuda:INDEX`",
        })
    }
}

/// A placement that was resolved: the device exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Cpu,
    Cuda(gpu_runtime::Device),
}

impl Place {
    pub(crate) fn of(device: Device) -> Result<Place> {
        Ok(match device {
            Device::Cpu => Place::Cpu,
            Device::Cuda(None) => Place::Cuda(gpu_runtime::Device::current()?),
            Device::Cuda(Some(index)) => Place::Cuda(gpu_runtime::Device::get(index)?),
        })
    }

    pub(crate) fn device(self) -> Device {
        match self {
            Place::Cpu => Device::Cpu,
            Place::Cuda(device) => Device::cuda_at(device.index()),
        }
    }
}
