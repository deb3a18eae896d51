//! Questions about occupancy, which programs ask to choose the size of their blocks.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint};

use cuda_sys::{CUfunction, CUoccupancy_flags, CUoccupancyB2DSize, CUresult};

use crate::api::Result;
use crate::api::arguments::{self, Out};
use crate::api::code::occupancy::blocks_per_multiprocessor;
use crate::device::attributes::{
    MULTIPROCESSORS, SHARED_PER_MULTIPROCESSOR, STATIC_SHARED_OPTIN, WARP,
};
use crate::device::machine;

pub(in crate::api) fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    out: Out<c_int>,
    function: CUfunction,
    block_size: c_int,
    dynamic_shared: usize,
) -> Result {
    let function = arguments::launchable(machine()?, function)?;
    let block_size = u32::try_from(block_size).ok().filter(|&threads| threads > 0);
    let block_size = block_size.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    out.set(blocks_per_multiprocessor(&function, block_size, dynamic_shared) as c_int);
    Ok(())
}

pub(in crate::api) fn cuOccupancyMaxPotentialBlockSize(
    grid: Out<c_int>,
    block: Out<c_int>,
    function: CUfunction,
    shared_for_block: CUoccupancyB2DSize,
    dynamic_shared: usize,
    limit: c_int,
) -> Result {
    let function = arguments::launchable(machine()?, function)?;
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

pub(in crate::api) fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: Out<c_int>,
    function: CUfunction,
    block_size: c_int,
    dynamic_shared: usize,
    flags: c_uint,
) -> Result {
    check_flags(flags)?;
    cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, dynamic_shared)
}

pub(in crate::api) fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    grid: Out<c_int>,
    block: Out<c_int>,
    function: CUfunction,
    shared_for_block: CUoccupancyB2DSize,
    dynamic_shared: usize,
    limit: c_int,
    flags: c_uint,
) -> Result {
    check_flags(flags)?;
    cuOccupancyMaxPotentialBlockSize(grid, block, function, shared_for_block, dynamic_shared, limit)
}

/// The dynamic shared memory that each of so many blocks on a multiprocessor can have.
pub(in crate::api) fn cuOccupancyAvailableDynamicSMemPerBlock(
    out: Out<usize>,
    function: CUfunction,
    blocks: c_int,
    block_size: c_int,
) -> Result {
    let function = arguments::launchable(machine()?, function)?;
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let blocks = u32::try_from(blocks).ok().filter(|&blocks| blocks > 0).ok_or(invalid)?;
    let block_size = u32::try_from(block_size).ok().filter(|&size| size > 0).ok_or(invalid)?;
    if blocks > blocks_per_multiprocessor(&function, block_size, 0) {
        return Err(invalid);
    }
    let share = (SHARED_PER_MULTIPROCESSOR / blocks).min(STATIC_SHARED_OPTIN);
    out.set(share.saturating_sub(function.static_shared) as usize);
    Ok(())
}

/// The one flag there is is about a cache.
fn check_flags(flags: c_uint) -> Result {
    let known = CUoccupancy_flags::CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE.0;
    if flags & !known == 0 { Ok(()) } else { Err(CUresult::CUDA_ERROR_INVALID_VALUE) }
}
