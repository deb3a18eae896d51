//! The policy that the devices' allocators follow: what the program or the environment asks for, or
//! Sluice's own.

use gpu_runtime::Device;

use super::device_policy::{DevicePolicy, MakeSuballocator};
use super::policy_in_use::PolicyInUse;
use crate::error::{Error, Result};
use crate::policy::{Pytorch, PytorchOptions, Suballocated};

/// Names the policy; what it is called is the value.
const VARIABLE: &str = "SLUICE_ALLOCATOR";

/// A policy for the devices' allocators.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AllocatorPolicy {
    /// Sluice's own: [`Stitched`](crate::policy::Stitched).
    Stitched,
    /// PyTorch's: [`Pytorch`](crate::policy::Pytorch), with these options.
    Pytorch(PytorchOptions),
}

/// The policies that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Stitched,
    Pytorch,
    PytorchExpandable,
}

/// The policy that is asked for, for all devices.
#[derive(Debug)]
pub(crate) struct PolicyChoice {
    policy: AllocatorPolicy,
    memory_fraction: Option<f64>,
}

impl PolicyChoice {
    /// The choice that the program asks for.
    pub(crate) fn asked(policy: AllocatorPolicy) -> PolicyChoice {
        let memory_fraction = match &policy {
            AllocatorPolicy::Stitched => None,
            AllocatorPolicy::Pytorch(options) => options.per_process_memory_fraction(),
        };
        PolicyChoice { policy, memory_fraction }
    }

    /// The choice that the environment asks for, or else Sluice's own.
    ///
    /// `SLUICE_ALLOCATOR` names a policy. PyTorch's options, where they are set, ask for PyTorch's,
    /// unless a name does for another one.
    pub(crate) fn from_environment() -> Result<PolicyChoice> {
        let options = PytorchOptions::from_environment()?;
        let name = match (named()?, &options) {
            (Some(name), _) => name,
            (None, Some(options)) if options.expandable_segments() => Name::PytorchExpandable,
            (None, Some(_)) => Name::Pytorch,
            (None, None) => Name::Stitched,
        };
        if name == Name::Stitched && options.is_some() {
            tracing::warn!(
                "of PyTorch's options, per_process_memory_fraction alone counts: {VARIABLE} asks \
                 for another policy"
            );
        }
        let memory_fraction =
            options.as_ref().and_then(PytorchOptions::per_process_memory_fraction);
        let pytorch = |expandable| {
            let options = options.unwrap_or_default();
            AllocatorPolicy::Pytorch(options.with_expandable_segments(expandable))
        };
        let policy = match name {
            Name::Stitched => AllocatorPolicy::Stitched,
            Name::Pytorch => pytorch(false),
            Name::PytorchExpandable => pytorch(true),
        };
        Ok(PolicyChoice { policy, memory_fraction })
    }

    /// The part of each device's memory that may be taken, if that is limited.
    pub(crate) fn memory_fraction(&self) -> Option<f64> {
        self.memory_fraction
    }

    /// The policy for a device that does not have its own allocator.
    pub(crate) fn for_memory(&self, has_virtual_memory: bool) -> PolicyInUse {
        match &self.policy {
            AllocatorPolicy::Stitched if has_virtual_memory => PolicyInUse::Stitched,
            AllocatorPolicy::Stitched => PolicyInUse::Pytorch(PytorchOptions::default()),
            AllocatorPolicy::Pytorch(options) => {
                let expandable = options.expandable_segments() && has_virtual_memory;
                PolicyInUse::Pytorch(options.clone().with_expandable_segments(expandable))
            }
        }
    }

    /// The policy of a device's allocator at work, and what of the device's memory it may take, if
    /// that is limited.
    pub(crate) fn start(
        &self,
        device: Device,
        policy: &PolicyInUse,
        suballocator: Option<MakeSuballocator>,
    ) -> Result<(DevicePolicy, Option<u64>)> {
        // Unlike what is free, this is told without a context on the device.
        let total = device.properties()?.total_memory as u64;
        let limit = self.memory_fraction.map(|fraction| (total as f64 * fraction) as u64);
        let policy = match (suballocator, policy) {
            (Some(make), _) => DevicePolicy::Suballocated(Box::new(Suballocated::new(make))),
            (None, PolicyInUse::Pytorch(options)) => {
                if *policy != self.for_memory(true) {
                    tracing::warn!(
                        %device,
                        "there is no virtual memory management: memory comes in plain segments, as \
                         with PyTorch's native policy"
                    );
                }
                let mut policy = Pytorch::with_options(options.clone(), total);
                policy.set_memory_limit(limit);
                DevicePolicy::Pytorch(Box::new(policy))
            }
            (None, PolicyInUse::Stitched | PolicyInUse::Suballocated) => {
                DevicePolicy::Stitched(Box::default())
            }
        };
        Ok((policy, limit))
    }
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
