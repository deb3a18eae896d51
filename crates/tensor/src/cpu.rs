//! The memory of tensors on the CPU: figures and settings, under the names that [`cuda`](crate::cuda)
//! has for devices.
//!
//! Tensors of 64 KiB and more lie in memory that is kept when they are dropped, for the next ones:
//! the system hands memory out page by page, which costs more than most operations on it. Smaller
//! ones, and page-locked memory, do not count here.
//!
//! ```
//! use tensor::{Tensor, cpu};
//!
//! let x = Tensor::ones([512, 512], ())?;
//! assert!(cpu::memory_allocated() >= 512 * 512 * 4);
//! drop(x);
//! assert!(cpu::memory_reserved() >= 512 * 512 * 4, "it is kept");
//! cpu::empty_cache();
//! # Ok::<(), tensor::Error>(())
//! ```

use gpu_alloc::HostMemoryStats;

/// The bytes that tensors hold, rounded up to the blocks that the allocator handed out.
pub fn memory_allocated() -> u64 {
    memory_stats().active_bytes.current
}

/// The most that [`memory_allocated`] has been since the last [`reset_peak_memory_stats`].
pub fn max_memory_allocated() -> u64 {
    memory_stats().active_bytes.peak
}

/// The bytes that the allocator has from the system: those that tensors hold, and those that are
/// cached.
pub fn memory_reserved() -> u64 {
    memory_stats().allocated_bytes.current
}

/// The most that [`memory_reserved`] has been since the last [`reset_peak_memory_stats`].
pub fn max_memory_reserved() -> u64 {
    memory_stats().allocated_bytes.peak
}

/// All statistics of the caching allocator.
pub fn memory_stats() -> HostMemoryStats {
    gpu_alloc::pageable_memory_stats()
}

/// Sets the peaks of [`memory_stats`] to the current values.
pub fn reset_peak_memory_stats() {
    gpu_alloc::reset_peak_pageable_memory_stats();
}

/// Sets the totals and the counts of [`memory_stats`] to 0.
pub fn reset_accumulated_memory_stats() {
    gpu_alloc::reset_accumulated_pageable_memory_stats();
}

/// Gives the memory that is cached back to the system.
pub fn empty_cache() {
    gpu_alloc::empty_pageable_cache();
}

/// Limits the memory of tensors, held and cached, to so many bytes, in place of what the environment
/// variable `SLUICE_PAGEABLE_LIMIT` says. An operation whose result would exceed it is an error,
/// which names the bytes that are held. Without a limit the system hands out more than there is, and
/// ends the process when that is used.
pub fn set_memory_limit(bytes: usize) {
    gpu_alloc::set_pageable_limit(bytes);
}
