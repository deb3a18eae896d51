//! Occupancy: how many blocks a multiprocessor would hold, if there were any.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_int;

use cuda_sys::{CUfunction, CUoccupancyB2DSize, CUresult};

use super::Result;
use super::arguments::{self, Out};
use crate::device::attributes::{
    BLOCKS_PER_MULTIPROCESSOR, MULTIPROCESSORS, SHARED_PER_MULTIPROCESSOR,
    THREADS_PER_MULTIPROCESSOR, WARP,
};
use crate::device::{Function, platform};

pub(super) unsafe fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    function: CUfunction,
    block_size: c_int,
    dynamic_shared: usize,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(blocks) }?;
    let function = arguments::function(platform()?, function)?;
    let block_size = u32::try_from(block_size).ok().filter(|&threads| threads > 0);
    let block_size = block_size.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    out.set(blocks_per_multiprocessor(&function, block_size, dynamic_shared) as c_int);
    Ok(())
}

pub(super) unsafe fn cuOccupancyMaxPotentialBlockSize(
    grid: *mut c_int,
    block: *mut c_int,
    function: CUfunction,
    shared_for_block: CUoccupancyB2DSize,
    dynamic_shared: usize,
    limit: c_int,
) -> Result {
    // SAFETY: the caller's promise.
    let (grid, block) = unsafe { (Out::new(grid)?, Out::new(block)?) };
    let function = arguments::function(platform()?, function)?;
    let limit = u32::try_from(limit).map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)?;
    let most = if limit == 0 { function.max_threads } else { limit.min(function.max_threads) };
    let shared = |threads: u32| match shared_for_block {
        // SAFETY: the caller gave the function to be asked this.
        Some(ask) => unsafe { ask(threads as c_int) },
        None => dynamic_shared,
    };
    let occupied = |threads: u32| {
        let blocks = blocks_per_multiprocessor(&function, threads, shared(threads));
        (blocks * threads, threads, blocks)
    };
    // Whole warps, or less than one if the limit says so; the largest block among the best.
    let candidates =
        (1..=most / WARP).map(|warps| warps * WARP).chain((most < WARP).then_some(most));
    let (_, threads, blocks) = candidates.map(occupied).max().unwrap_or_default();
    grid.set((blocks * MULTIPROCESSORS) as c_int);
    block.set(threads as c_int);
    Ok(())
}

fn blocks_per_multiprocessor(function: &Function, threads: u32, dynamic_shared: usize) -> u32 {
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
