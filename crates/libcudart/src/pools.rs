//! Memory pools, and memory in the order of streams.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use cuda_sys::{
    CUgraphMem_attribute, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationType, CUmemLocation,
    CUmemPool_attribute, CUmemPoolProps, CUmemoryPool, CUstream,
};

use crate::address::{address, out};
use crate::api::{calls, calls_on_device};
use crate::context::handle;
use crate::driver::cu;

calls_on_device! {
    fn cudaMallocAsync | cudaMallocAsync_ptsz [stream] (
        pointer: *mut *mut c_void,
        size: usize,
        stream: CUstream,
    ) {
        if size == 0 {
            pointer.write(null_mut());
            return Ok(());
        }
        cu::cuMemAllocAsync(out(pointer), size, stream)
    }
    fn cudaMallocFromPoolAsync | cudaMallocFromPoolAsync_ptsz [stream] (
        pointer: *mut *mut c_void,
        size: usize,
        pool: CUmemoryPool,
        stream: CUstream,
    ) {
        if size == 0 {
            pointer.write(null_mut());
            return Ok(());
        }
        cu::cuMemAllocFromPoolAsync(out(pointer), size, pool, stream)
    }
    fn cudaFreeAsync | cudaFreeAsync_ptsz [stream] (pointer: *mut c_void, stream: CUstream) {
        if pointer.is_null() { Ok(()) } else { cu::cuMemFreeAsync(address(pointer), stream) }
    }
}

calls! {
    fn cudaMemPoolCreate(pool: *mut CUmemoryPool, properties: *const CUmemPoolProps) {
        cu::cuMemPoolCreate(pool, properties)
    }
    fn cudaMemPoolDestroy(pool: CUmemoryPool) {
        cu::cuMemPoolDestroy(pool)
    }
    fn cudaMemPoolSetAttribute(
        pool: CUmemoryPool,
        attribute: CUmemPool_attribute,
        value: *mut c_void,
    ) {
        cu::cuMemPoolSetAttribute(pool, attribute, value)
    }
    fn cudaMemPoolGetAttribute(
        pool: CUmemoryPool,
        attribute: CUmemPool_attribute,
        value: *mut c_void,
    ) {
        cu::cuMemPoolGetAttribute(pool, attribute, value)
    }
    fn cudaMemPoolTrimTo(pool: CUmemoryPool, bytes_to_keep: usize) {
        cu::cuMemPoolTrimTo(pool, bytes_to_keep)
    }
    fn cudaMemPoolSetAccess(pool: CUmemoryPool, list: *const CUmemAccessDesc, count: usize) {
        cu::cuMemPoolSetAccess(pool, list, count)
    }
    fn cudaMemPoolGetAccess(
        flags: *mut CUmemAccess_flags,
        pool: CUmemoryPool,
        location: *mut CUmemLocation,
    ) {
        cu::cuMemPoolGetAccess(flags, pool, location)
    }
    fn cudaDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, device: c_int) {
        cu::cuDeviceGetDefaultMemPool(pool, handle(device)?)
    }
    fn cudaDeviceGetMemPool(pool: *mut CUmemoryPool, device: c_int) {
        cu::cuDeviceGetMemPool(pool, handle(device)?)
    }
    fn cudaDeviceSetMemPool(device: c_int, pool: CUmemoryPool) {
        cu::cuDeviceSetMemPool(handle(device)?, pool)
    }
    fn cudaMemGetDefaultMemPool(
        pool: *mut CUmemoryPool,
        location: *mut CUmemLocation,
        allocation: CUmemAllocationType,
    ) {
        cu::cuMemGetDefaultMemPool(pool, location, allocation)
    }
    fn cudaMemGetMemPool(
        pool: *mut CUmemoryPool,
        location: *mut CUmemLocation,
        allocation: CUmemAllocationType,
    ) {
        cu::cuMemGetMemPool(pool, location, allocation)
    }
    fn cudaMemSetMemPool(
        location: *mut CUmemLocation,
        allocation: CUmemAllocationType,
        pool: CUmemoryPool,
    ) {
        cu::cuMemSetMemPool(location, allocation, pool)
    }
    fn cudaDeviceGraphMemTrim(device: c_int) {
        cu::cuDeviceGraphMemTrim(handle(device)?)
    }
    fn cudaDeviceGetGraphMemAttribute(
        device: c_int,
        attribute: CUgraphMem_attribute,
        value: *mut c_void,
    ) {
        cu::cuDeviceGetGraphMemAttribute(handle(device)?, attribute, value)
    }
    fn cudaDeviceSetGraphMemAttribute(
        device: c_int,
        attribute: CUgraphMem_attribute,
        value: *mut c_void,
    ) {
        cu::cuDeviceSetGraphMemAttribute(handle(device)?, attribute, value)
    }
}
