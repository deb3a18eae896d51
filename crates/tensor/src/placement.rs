//! From the device that a program names to one that exists.

use std::str::FromStr;

use crate::{Device, Error, Result};

impl Device {
    /// The placement with "cuda" replaced by the device that is current now.
    ///
    /// # Errors
    /// The device does not exist, or there is no driver.
    pub fn resolve(self) -> Result<Device> {
        Ok(Place::of(self)?.device())
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

/// A device that exists: [`Device`] with the current index in the place of a missing one.
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
