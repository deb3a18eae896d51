//! Page-locked memory of the host, and managed memory.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use cuda_sys::{CUmem_advise, CUmem_range_attribute, CUmemLocation, CUstream};

use crate::address::{address, out};
use crate::api::calls_on_device;
use crate::driver::cu;
use crate::error::cudaError_t;

calls_on_device! {
    fn cudaMallocHost(pointer: *mut *mut c_void, size: usize) {
        if size == 0 {
            pointer.write(null_mut());
            return Ok(());
        }
        cu::cuMemAllocHost_v2(pointer, size)
    }
    fn cudaHostAlloc(pointer: *mut *mut c_void, size: usize, flags: c_uint) {
        if size == 0 {
            pointer.write(null_mut());
            return Ok(());
        }
        cu::cuMemHostAlloc(pointer, size, flags)
    }
    fn cudaFreeHost(pointer: *mut c_void) {
        if pointer.is_null() { Ok(()) } else { cu::cuMemFreeHost(pointer) }
    }
    fn cudaHostRegister(pointer: *mut c_void, size: usize, flags: c_uint) {
        cu::cuMemHostRegister_v2(pointer, size, flags)
    }
    fn cudaHostUnregister(pointer: *mut c_void) {
        cu::cuMemHostUnregister(pointer)
    }
    fn cudaHostGetDevicePointer(device: *mut *mut c_void, host: *mut c_void, flags: c_uint) {
        cu::cuMemHostGetDevicePointer_v2(out(device), host, flags)
    }
    fn cudaHostGetFlags(flags: *mut c_uint, pointer: *mut c_void) {
        cu::cuMemHostGetFlags(flags, pointer)
    }
    fn cudaMallocManaged(pointer: *mut *mut c_void, size: usize, flags: c_uint) {
        if pointer.is_null() || size == 0 {
            return Err(cudaError_t::cudaErrorInvalidValue);
        }
        cu::cuMemAllocManaged(out(pointer), size, flags)
    }
    fn cudaMemPrefetchAsync_12 | cudaMemPrefetchAsync_12_ptsz [stream] (
        pointer: *const c_void,
        count: usize,
        device: c_int,
        stream: CUstream,
    ) {
        cu::cuMemPrefetchAsync(address(pointer), count, device, stream)
    }
    fn cudaMemPrefetchAsync_13 | cudaMemPrefetchAsync_13_ptsz [stream] (
        pointer: *const c_void,
        count: usize,
        location: CUmemLocation,
        flags: c_uint,
        stream: CUstream,
    ) {
        cu::cuMemPrefetchAsync_v2(address(pointer), count, location, flags, stream)
    }
    fn cudaMemAdvise_12(pointer: *const c_void, count: usize, advice: CUmem_advise, device: c_int) {
        cu::cuMemAdvise(address(pointer), count, advice, device)
    }
    fn cudaMemAdvise_13(
        pointer: *const c_void,
        count: usize,
        advice: CUmem_advise,
        location: CUmemLocation,
    ) {
        cu::cuMemAdvise_v2(address(pointer), count, advice, location)
    }
    fn cudaMemRangeGetAttribute(
        data: *mut c_void,
        size: usize,
        attribute: CUmem_range_attribute,
        pointer: *const c_void,
        count: usize,
    ) {
        cu::cuMemRangeGetAttribute(data, size, attribute, address(pointer), count)
    }
    fn cudaMemRangeGetAttributes(
        data: *mut *mut c_void,
        sizes: *mut usize,
        attributes: *mut CUmem_range_attribute,
        attribute_count: usize,
        pointer: *const c_void,
        count: usize,
    ) {
        let pointer = address(pointer);
        cu::cuMemRangeGetAttributes(data, sizes, attributes, attribute_count, pointer, count)
    }
    fn cudaStreamAttachMemAsync | cudaStreamAttachMemAsync_ptsz [stream] (
        stream: CUstream,
        pointer: *mut c_void,
        length: usize,
        flags: c_uint,
    ) {
        cu::cuStreamAttachMemAsync(stream, address(pointer), length, flags)
    }
}
