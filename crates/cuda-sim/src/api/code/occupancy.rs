//! Occupancy: how many blocks a multiprocessor holds, which limits cooperative launches.

use crate::device::KernelFunction;
use crate::device::attributes::{
    BLOCKS_PER_MULTIPROCESSOR, MULTIPROCESSORS, SHARED_PER_MULTIPROCESSOR,
    THREADS_PER_MULTIPROCESSOR, WARP,
};

/// The number of a kernel's blocks that fit on the device at once.
pub(in crate::api) fn blocks_at_once(
    function: &KernelFunction,
    threads: u32,
    dynamic_shared: u32,
) -> u64 {
    let blocks = blocks_per_multiprocessor(function, threads, dynamic_shared as usize);
    u64::from(blocks * MULTIPROCESSORS)
}

pub(in crate::api) fn blocks_per_multiprocessor(
    function: &KernelFunction,
    threads: u32,
    dynamic_shared: usize,
) -> u32 {
    if threads > function.max_threads {
        return 0;
    }
    let warps = threads.div_ceil(WARP);
    let by_threads = THREADS_PER_MULTIPROCESSOR / (warps * WARP);
    let shared = u64::from(function.static_shared).saturating_add(dynamic_shared as u64);
    let by_shared = u64::from(SHARED_PER_MULTIPROCESSOR).checked_div(shared);
    let by_shared = by_shared.map_or(u32::MAX, |blocks| blocks as u32);
    by_threads.min(by_shared).min(BLOCKS_PER_MULTIPROCESSOR)
}
