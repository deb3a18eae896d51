//! Caching allocators for device memory and page-locked host memory.
//!
//! To ask a driver for memory takes long, and to give memory back waits for the device. The
//! allocators here keep what is freed and hand it out again: [`allocate`] gives [`DeviceMemory`],
//! [`allocate_pinned`] gives [`PinnedMemory`], [`allocate_pageable`] gives [`PageableMemory`], and
//! all return to their allocator when they are dropped. The statistics and the tools are PyTorch's, by name and by meaning.
//!
//! What it is not: launches, copies and streams are the crate `gpu-runtime`'s, whose devices it
//! serves, and tensors are `tensor`'s. The guide to its figures and tools is `docs/memory.md`.
//!
//! # Policies
//! What is kept where, and who gets it, a [policy] decides: Sluice's own,
//! [`Stitched`](policy::Stitched), if nothing else is said. Who sets PyTorch's options in
//! `PYTORCH_CUDA_ALLOC_CONF` or `PYTORCH_ALLOC_CONF` has PyTorch's policy,
//! [`Pytorch`](policy::Pytorch), with these options, and `SLUICE_ALLOCATOR`, which is `stitched`,
//! `pytorch` or `pytorch-expandable`, wins over all that.
//! Where a device has no virtual memory management, its memory comes in plain segments as PyTorch's
//! native policy takes it, and the log says so.
//!
//! # Memory and streams
//! Device memory belongs to the stream that it was allocated for. What is dropped is at once free
//! for the next request on that stream: its work comes later in the same queue. Uses on other
//! streams, which the memory's [`Uses`](gpu_runtime::Uses) remembers, come before whatever
//! the next owner does, and the host waits for them neither in the drop nor in the next request.
//! Sluice's policy hands such memory out late, and has the next owner's stream wait; which memory a
//! request gets follows from the order of the calls alone. PyTorch's hands it out once the uses are
//! over, as far as it has heard, and until then gives other memory.
//!
//! One race is left by that rule, and closed here. The next owner's memory may still be in use by
//! the last owner's work on the allocation stream, and only that stream's order protects it. An
//! owner that first touches it on *another* stream would overtake. So the use record of memory that
//! was used before does not begin empty: it begins with a write at the last use on the allocation
//! stream, and [`ordered`](gpu_runtime::ordered) work on another stream waits for that. PyTorch
//! leaves this to its users; so does [`Order::Manual`](gpu_runtime::Order).
//!
//! # Memory and graphs
//! What is allocated for work that is being captured comes from a [`MemoryPool`] that the graph
//! keeps. Memory from outside that a graph uses stays where it is until the graph is gone, whoever
//! drops it.
//!
//! # Looking at it
//! [`memory_stats`] and [`memory_summary`] say how much memory there is and was, [`memory_snapshot`]
//! who holds it: each block's call site, [tag](memory_tag), stream and age are always known.
//! [`record_memory_history`] adds what happened before. [`dump_snapshot`] writes a page to look at, or
//! a file for PyTorch's tools. An [`OutOfMemory`] error explains itself.
//!
//! # Blocking
//! A drop never waits. An allocation waits in one case only: the driver has no memory left even
//! after all unused memory was given back to it; see [`allocate`]. [`empty_cache`] waits for the
//! work that still uses unused memory; [`trim_cache`], which gives back what was idle for some time,
//! leaves such memory alone.
//!
//! ```
//! use gpu_runtime::{Device, DriverChoice};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(2) })?;
//! let device = Device::get(0)?;
//! let stream = device.current_stream()?;
//!
//! let memory = gpu_alloc::allocate(device, 1000, &stream)?;
//! assert_eq!(gpu_alloc::memory_allocated(device), 1024);
//! let first = memory.ptr();
//! drop(memory);
//!
//! // Freed memory stays reserved, and is handed out again without a call to the driver.
//! assert_eq!(gpu_alloc::memory_allocated(device), 0);
//! assert_eq!(gpu_alloc::memory_reserved(device), 2 << 20);
//! assert_eq!(gpu_alloc::allocate(device, 600, &stream)?.ptr(), first);
//!
//! gpu_alloc::empty_cache()?;
//! assert_eq!(gpu_alloc::memory_reserved(device), 0);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

// Layers, the top one first; a module imports only from lines below its own.
//
//   memory
//   snapshot
//   statistics
//   allocators
//   error
//   out_of_memory
//   observers
//   cache
//   policy
//   nested, sizes
mod allocators;
mod cache;
mod error;
mod memory;
mod nested;
mod observers;
mod out_of_memory;
pub mod policy;
mod sizes;
pub mod snapshot;
mod statistics;

pub use allocators::{
    AllocatorPolicy, DeviceSource, PolicyInUse, allocator_policy, empty_cache, empty_host_cache,
    empty_pageable_cache, get_per_process_memory_fraction, host_memory_stats,
    pageable_memory_stats, reset_accumulated_host_memory_stats,
    reset_accumulated_pageable_memory_stats, reset_peak_host_memory_stats,
    reset_peak_pageable_memory_stats, set_allocator_policy, set_memory_source,
    set_pageable_cache_limit, set_pageable_limit, set_per_process_memory_fraction,
    set_pinned_cache_limit, set_pinned_limit, set_suballocator, trim_cache, trim_host_cache,
    trim_pageable_cache,
};
pub use error::{Error, Result};
pub use memory::{
    DeviceMemory, InMemoryPool, MemoryPool, NewMemoryFill, PageableMemory, PinnedMemory, allocate,
    allocate_pageable, allocate_pinned, fill_new_memory, with_memory_pool,
};
pub use observers::{MemoryTag, Tag, memory_tag, with_memory_tag};
pub use out_of_memory::{
    Advice, AwaitedWork, Cause, HeldMemory, KeptMemory, OutOfMemory, OutOfMemoryObservation,
    observe_out_of_memory,
};
pub use policy::{DurationStatistic, HostMemoryStats, MemoryStats, PoolStatistics, Statistic};
pub use snapshot::{Snapshot, dump_snapshot, memory_snapshot, record_memory_history};
pub use statistics::{
    max_memory_allocated, max_memory_reserved, memory_allocated, memory_reserved, memory_stats,
    memory_summary, reset_accumulated_memory_stats, reset_peak_memory_stats,
};

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
