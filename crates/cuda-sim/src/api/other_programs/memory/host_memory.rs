//! Host memory that programs register, and attributes of page-locked memory.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use cuda_sys::{
    CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_IOMEMORY, CU_MEMHOSTREGISTER_PORTABLE,
    CU_MEMHOSTREGISTER_READ_ONLY, CUdeviceptr, CUresult,
};

use crate::api::Result;
use crate::api::arguments::{Out, number};
use crate::api::memory::host_memory::{cuMemHostAlloc, free};
use crate::device::{HostSource, PageLockedAllocation, current, machine, process_memory};

const REGISTER_FLAGS: c_uint =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;

pub(in crate::api) fn cuMemAllocHost_v2(out: Out<*mut c_void>, bytes: usize) -> Result {
    cuMemHostAlloc(out, bytes, 0)
}

pub(in crate::api) fn cuMemHostRegister_v2(
    pointer: *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> Result {
    let context = current::working()?;
    let machine = machine()?;
    if flags & CU_MEMHOSTREGISTER_IOMEMORY != 0 {
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let start = pointer.expose_provenance() as u64;
    let end = start.checked_add(bytes as u64).ok_or(invalid)?;
    let in_device = |address| machine.device_at(address).is_some();
    let empty = start == 0 || start == end;
    if empty || flags & !REGISTER_FLAGS != 0 || in_device(start) || in_device(end - 1) {
        return Err(invalid);
    }
    let is_written = flags & CU_MEMHOSTREGISTER_READ_ONLY == 0;
    if !process_memory::is_accessible(&(start..end), is_written) {
        return Err(invalid);
    }
    machine.host_memory.register(start..end, flags, context.id)
}

pub(in crate::api) fn cuMemHostUnregister(pointer: *mut c_void) -> Result {
    free(pointer, HostSource::Program, CUresult::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
}

pub(in crate::api) fn cuMemHostGetDevicePointer_v2(
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

pub(in crate::api) fn cuMemHostGetFlags(out: Out<c_uint>, pointer: *mut c_void) -> Result {
    out.set(find(pointer)?.flags);
    Ok(())
}

fn find(pointer: *mut c_void) -> Result<Arc<PageLockedAllocation>> {
    current::working()?;
    let found = machine()?.host_memory.containing(number(pointer));
    found.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}
