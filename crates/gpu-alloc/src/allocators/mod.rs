//! The process's allocators: one for each device, one for page-locked memory and one for pageable
//! memory of the host, each a policy at work over a source of memory.
//!
//! Programs and the environment choose the policies (`choice`, `overrides`) until the first
//! allocation on any device, which makes the allocators of all devices.

mod choice;
pub(crate) mod device;
mod device_policy;
mod device_source;
pub(crate) mod host;
pub(crate) mod overrides;
pub(crate) mod pageable;
pub(crate) mod pinned;
mod policy_in_use;

pub use choice::AllocatorPolicy;
pub use device::{
    allocator_policy, empty_cache, get_per_process_memory_fraction,
    set_per_process_memory_fraction, trim_cache,
};
pub(crate) use device_policy::DevicePolicy;
pub use device_source::DeviceSource;
pub use overrides::{set_allocator_policy, set_memory_source, set_suballocator};
pub use pageable::{
    empty_pageable_cache, pageable_memory_stats, reset_accumulated_pageable_memory_stats,
    reset_peak_pageable_memory_stats, set_pageable_cache_limit, set_pageable_limit,
    trim_pageable_cache,
};
pub use pinned::{
    empty_host_cache, host_memory_stats, reset_accumulated_host_memory_stats,
    reset_peak_host_memory_stats, set_pinned_cache_limit, set_pinned_limit, trim_host_cache,
};
pub use policy_in_use::PolicyInUse;
