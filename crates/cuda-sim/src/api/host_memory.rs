//! Page-locked host memory.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use cuda_sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_WRITECOMBINED,
    CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_IOMEMORY, CU_MEMHOSTREGISTER_PORTABLE,
    CU_MEMHOSTREGISTER_READ_ONLY, CUdeviceptr, CUresult,
};

use super::Result;
use super::arguments::{Out, number};
use crate::device::{HostAllocation, HostSource, current, platform, process_memory};

const ALLOC_FLAGS: c_uint =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
const REGISTER_FLAGS: c_uint =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;

pub(super) fn cuMemHostAlloc(out: Out<*mut c_void>, bytes: usize, flags: c_uint) -> Result {
    let context = current::working()?;
    if bytes == 0 || flags & !ALLOC_FLAGS != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // Under unified addressing every allocation is mapped and portable.
    let memory = &platform()?.host_memory;
    let allocation =
        memory.allocate(bytes as u64, flags | CU_MEMHOSTALLOC_DEVICEMAP, context.id)?;
    out.set(std::ptr::with_exposed_provenance_mut(allocation.address as usize));
    Ok(())
}

pub(super) fn cuMemAllocHost_v2(out: Out<*mut c_void>, bytes: usize) -> Result {
    cuMemHostAlloc(out, bytes, 0)
}

pub(super) fn cuMemFreeHost(pointer: *mut c_void) -> Result {
    free(pointer, HostSource::Driver, CUresult::CUDA_ERROR_INVALID_VALUE)
}

pub(super) fn cuMemHostRegister_v2(pointer: *mut c_void, bytes: usize, flags: c_uint) -> Result {
    let context = current::working()?;
    let platform = platform()?;
    if flags & CU_MEMHOSTREGISTER_IOMEMORY != 0 {
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let start = pointer.expose_provenance() as u64;
    let end = start.checked_add(bytes as u64).ok_or(invalid)?;
    let in_device = |address| platform.device_at(address).is_some();
    let empty = start == 0 || start == end;
    if empty || flags & !REGISTER_FLAGS != 0 || in_device(start) || in_device(end - 1) {
        return Err(invalid);
    }
    let is_written = flags & CU_MEMHOSTREGISTER_READ_ONLY == 0;
    if !process_memory::is_accessible(&(start..end), is_written) {
        return Err(invalid);
    }
    platform.host_memory.register(start..end, flags, context.id)
}

pub(super) fn cuMemHostUnregister(pointer: *mut c_void) -> Result {
    free(pointer, HostSource::Program, CUresult::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
}

pub(super) fn cuMemHostGetDevicePointer_v2(
    out: Out<CUdeviceptr>,
    pointer: *mut c_void,
    flags: c_uint,
) -> Result {
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    find(pointer)?;
    // Devices reach host memory at the host's own addresses.
    out.set(number(pointer));
    Ok(())
}

pub(super) fn cuMemHostGetFlags(out: Out<c_uint>, pointer: *mut c_void) -> Result {
    out.set(find(pointer)?.flags);
    Ok(())
}

fn find(pointer: *mut c_void) -> Result<Arc<HostAllocation>> {
    current::working()?;
    let found = platform()?.host_memory.containing(number(pointer));
    found.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

/// Waits for all work of all devices, which may use the memory, and frees it.
fn free(pointer: *mut c_void, source: HostSource, unknown: CUresult) -> Result {
    let context = current::current()?;
    let platform = platform()?;
    let found = platform.host_memory.starting_at(number(pointer));
    let allocation = found.filter(|found| found.source == source).ok_or(unknown)?;
    platform.scheduler.wait_for_everything();
    if !platform.host_memory.free(&allocation) {
        return Err(unknown);
    }
    drop(allocation);
    context.check()
}
