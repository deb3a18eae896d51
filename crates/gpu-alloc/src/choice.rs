//! Which policy the devices' allocators follow: what the program or the environment asks for, or
//! the default.

use gpu_runtime::{Device, DriverKind};

use crate::device_policy::DevicePolicy;
use crate::error::{Error, Result};
use crate::plug::{AllocatorPolicy, MakeSuballocator};
use crate::policy::{Pytorch, PytorchOptions, Suballocated};

/// Names the policy; what it is called is the value.
const VARIABLE: &str = "SLUICE_ALLOCATOR";

/// The policies that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Stitched,
    Pytorch,
    PytorchExpandable,
}

/// The policy that is asked for, for all devices.
#[derive(Debug)]
pub(crate) struct Choice {
    name: Name,
    options: PytorchOptions,
}

impl Choice {
    /// What the program asks for, or else the environment, and otherwise the default for the driver
    /// in use.
    ///
    /// `SLUICE_ALLOCATOR` names a policy. PyTorch's options, where they are set, ask for PyTorch's,
    /// unless a name does for another one.
    pub(crate) fn new(asked: Option<&AllocatorPolicy>) -> Result<Choice> {
        match asked {
            Some(AllocatorPolicy::Stitched) => {
                Ok(Choice { name: Name::Stitched, options: PytorchOptions::default() })
            }
            Some(AllocatorPolicy::Pytorch(options)) => {
                Ok(Choice { name: named_by(options), options: options.clone() })
            }
            None => Choice::from_environment(),
        }
    }

    fn from_environment() -> Result<Choice> {
        let options = PytorchOptions::from_environment()?;
        let name = match (named()?, &options) {
            (Some(name), _) => name,
            (None, Some(options)) => named_by(options),
            (None, None) => default_for(gpu_runtime::driver_kind()?),
        };
        if name == Name::Stitched && options.is_some() {
            tracing::warn!(
                "of PyTorch's options, per_process_memory_fraction alone counts: {VARIABLE} asks \
                 for another policy"
            );
        }
        Ok(Choice { name, options: options.unwrap_or_default() })
    }

    /// The policy of a device's allocator, and what of the device's memory it may take, if that is
    /// limited. A suballocator that was put in place has precedence.
    pub(crate) fn for_device(
        &self,
        device: Device,
        has_virtual_memory: bool,
        suballocator: Option<MakeSuballocator>,
    ) -> Result<(DevicePolicy, Option<u64>)> {
        // Unlike what is free, this is told without a context on the device.
        let total = device.properties()?.total_memory as u64;
        let fraction = self.options.per_process_memory_fraction();
        let limit = fraction.map(|fraction| (total as f64 * fraction) as u64);
        if let Some(make) = suballocator {
            let policy = Box::new(Suballocated::new(make));
            return Ok((DevicePolicy::Suballocated(policy), limit));
        }
        if self.name != Name::Pytorch && !has_virtual_memory {
            tracing::warn!(
                %device,
                "there is no virtual memory management: memory comes in plain segments, as with \
                 PyTorch's native policy"
            );
        }
        if self.name == Name::Stitched && has_virtual_memory {
            return Ok((DevicePolicy::Stitched(Box::default()), limit));
        }
        let expandable = self.name != Name::Pytorch && has_virtual_memory;
        let options = self.options.clone().with_expandable_segments(expandable);
        let mut policy = Pytorch::with_options(options, total);
        policy.set_memory_limit(limit);
        Ok((DevicePolicy::Pytorch(Box::new(policy)), limit))
    }
}

/// The policy with these options.
fn named_by(options: &PytorchOptions) -> Name {
    if options.expandable_segments() { Name::PytorchExpandable } else { Name::Pytorch }
}

fn named() -> Result<Option<Name>> {
    let Some(value) = std::env::var_os(VARIABLE) else { return Ok(None) };
    match value.to_str() {
        Some("stitched") => Ok(Some(Name::Stitched)),
        Some("pytorch") => Ok(Some(Name::Pytorch)),
        Some("pytorch-expandable") => Ok(Some(Name::PytorchExpandable)),
        _ => Err(Error::InvalidEnvironment {
            variable: VARIABLE,
            value: value.to_string_lossy().into_owned(),
            expected: "`stitched`, `pytorch` or `pytorch-expandable`",
        }),
    }
}

/// Sluice's own on the software driver. On NVIDIA's, PyTorch's, as long as there are no figures of
/// the own one from hardware.
fn default_for(driver: DriverKind) -> Name {
    match driver {
        DriverKind::Software => Name::Stitched,
        DriverKind::Nvidia => Name::PytorchExpandable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_own_policy_on_the_software_driver_and_pytorchs_on_nvidias() {
        assert_eq!(default_for(DriverKind::Software), Name::Stitched);
        assert_eq!(default_for(DriverKind::Nvidia), Name::PytorchExpandable);
    }
}
