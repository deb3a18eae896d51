//! Devices that exist, found from those that a program names.

use std::str::FromStr;

use crate::{Device, Error, Result};

impl Device {
    /// The device with its index: [`Device::cuda`] becomes the CUDA device that is current for this
    /// thread now, all others stay as they are.
    ///
    /// # Errors
    /// The device does not exist, or there is no driver.
    pub fn resolve(self) -> Result<Device> {
        Ok(ResolvedDevice::of(self)?.to_device())
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

/// A device that exists: the CPU, or a CUDA device with its index. The public [`Device`] may leave
/// the index open, and may name a device that this machine has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ResolvedDevice {
    Cpu,
    Cuda(gpu_runtime::Device),
}

impl ResolvedDevice {
    /// The device that a program names; where the index is open, the CUDA device that is current
    /// for this thread.
    ///
    /// # Errors
    /// The device does not exist, or there is no driver.
    pub(crate) fn of(device: Device) -> Result<ResolvedDevice> {
        Ok(match device {
            Device::Cpu => ResolvedDevice::Cpu,
            Device::Cuda(None) => ResolvedDevice::Cuda(gpu_runtime::Device::current()?),
            Device::Cuda(Some(index)) => ResolvedDevice::Cuda(gpu_runtime::Device::get(index)?),
        })
    }

    /// The same as the public type, with its index.
    pub(crate) fn to_device(self) -> Device {
        match self {
            ResolvedDevice::Cpu => Device::Cpu,
            ResolvedDevice::Cuda(device) => Device::cuda_at(device.index()),
        }
    }
}
