//! Page-locked host memory.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_uint, c_void};

use cuda_sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_WRITECOMBINED, CUresult,
};

use crate::api::Result;
use crate::api::arguments::{Out, number};
use crate::device::{HostSource, current, machine};

const ALLOC_FLAGS: c_uint =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;

pub(in crate::api) fn cuMemHostAlloc(out: Out<*mut c_void>, bytes: usize, flags: c_uint) -> Result {
    let context = current::working()?;
    if bytes == 0 || flags & !ALLOC_FLAGS != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // Under unified addressing every allocation is mapped and portable.
    let memory = &machine()?.host_memory;
    let allocation =
        memory.allocate(bytes as u64, flags | CU_MEMHOSTALLOC_DEVICEMAP, context.id)?;
    out.set(std::ptr::with_exposed_provenance_mut(allocation.address as usize));
    Ok(())
}

pub(in crate::api) fn cuMemFreeHost(pointer: *mut c_void) -> Result {
    free(pointer, HostSource::Driver, CUresult::CUDA_ERROR_INVALID_VALUE)
}

/// Waits for all work of all devices, which may use the memory, and frees it.
pub(in crate::api) fn free(pointer: *mut c_void, source: HostSource, unknown: CUresult) -> Result {
    let context = current::current()?;
    let machine = machine()?;
    let found = machine.host_memory.starting_at(number(pointer));
    let allocation = found.filter(|found| found.source == source).ok_or(unknown)?;
    machine.scheduler.wait_for_everything();
    if !machine.host_memory.free(&allocation) {
        return Err(unknown);
    }
    drop(allocation);
    context.check()
}
