//! Which policy a device's allocator follows.

use std::fmt;

use gpu_runtime::Device;

use crate::device;
use crate::error::Result;
use crate::plug;
use crate::policy::PytorchOptions;

/// The policy that a device's allocator follows. As a text it is what
/// [`name`](PolicyInUse::name) says, and the options that are not PyTorch's defaults.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PolicyInUse {
    /// Sluice's own: [`Stitched`](crate::policy::Stitched).
    Stitched,
    /// PyTorch's: [`Pytorch`](crate::policy::Pytorch), with these options.
    Pytorch(PytorchOptions),
    /// A [`Suballocator`](crate::policy::Suballocator) of the program's.
    Suballocated,
}

impl PolicyInUse {
    /// What `SLUICE_ALLOCATOR` calls it: `stitched`, `pytorch` or `pytorch-expandable`; and
    /// `suballocated`, which cannot be asked for there.
    pub fn name(&self) -> &'static str {
        match self {
            PolicyInUse::Stitched => "stitched",
            PolicyInUse::Pytorch(options) if options.expandable_segments() => "pytorch-expandable",
            PolicyInUse::Pytorch(_) => "pytorch",
            PolicyInUse::Suballocated => "suballocated",
        }
    }
}

impl fmt::Display for PolicyInUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let PolicyInUse::Pytorch(options) = self else { return Ok(()) };
        let rest = options.clone().with_expandable_segments(false);
        if rest == PytorchOptions::default() { Ok(()) } else { write!(f, " ({rest})") }
    }
}

/// The policy that a device's allocator follows, or will follow from its first use on: by what the
/// program [asked for](crate::set_allocator_policy), by the environment, or by default; and by what
/// the device can do. PyTorch's `torch.cuda.memory.get_allocator_backend` tells as much.
///
/// To ask settles nothing: until the first use the program may still choose.
///
/// # Errors
/// As the first use would: the environment asks for a policy or an option that there is not; there
/// is no driver.
///
/// ```
/// use gpu_alloc::{AllocatorPolicy, PolicyInUse};
///
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// let device = gpu_runtime::Device::get(0)?;
/// assert_eq!(gpu_alloc::allocator_policy(device)?, PolicyInUse::Stitched);
///
/// gpu_alloc::set_allocator_policy(AllocatorPolicy::Pytorch("max_split_size_mb:32".parse()?))?;
/// let policy = gpu_alloc::allocator_policy(device)?;
/// assert_eq!(policy.to_string(), "pytorch (max_split_size_mb:32)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn allocator_policy(device: Device) -> Result<PolicyInUse> {
    let mut plugged = plug::plugged();
    match device::policy_in_use(device) {
        Some(policy) => Ok(policy.clone()),
        None => plugged.policy_for(device),
    }
}
