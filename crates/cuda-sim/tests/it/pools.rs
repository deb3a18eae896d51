//! Memory pools, and memory that is allocated and freed in a stream's order.

mod random;
mod reuse;
mod rules;

use std::ffi::c_void;
use std::ptr;

use cuda_sys::{
    CUmemAllocationHandleType, CUmemAllocationType, CUmemPool_attribute as Attribute,
    CUmemPoolProps, CUmemoryPool, CUstream,
};

use crate::ok;
use crate::sim::Gpu;
use crate::virtual_memory::on_device;

pub(crate) const MIB: usize = 1 << 20;

pub(crate) fn allocate(bytes: usize, stream: CUstream) -> u64 {
    let mut pointer = 0;
    ok!(cuMemAllocAsync(&mut pointer, bytes, stream));
    pointer
}

pub(crate) fn default_pool(gpu: &Gpu) -> CUmemoryPool {
    let mut pool = ptr::null_mut();
    ok!(cuDeviceGetDefaultMemPool(&mut pool, gpu.ordinal));
    pool
}

pub(crate) fn properties(ordinal: i32) -> CUmemPoolProps {
    CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: on_device(ordinal),
        win32SecurityAttributes: ptr::null_mut(),
        maxSize: 0,
        usage: 0,
        reserved: [0; 54],
    }
}

/// A pool of the test's own.
pub(crate) fn create(gpu: &Gpu) -> CUmemoryPool {
    let mut pool = ptr::null_mut();
    ok!(cuMemPoolCreate(&mut pool, &properties(gpu.ordinal)));
    ok!(cuDeviceSetMemPool(gpu.ordinal, pool));
    pool
}

pub(crate) fn set<T>(pool: CUmemoryPool, attribute: Attribute, mut value: T) {
    let data: *mut c_void = ptr::from_mut(&mut value).cast();
    ok!(cuMemPoolSetAttribute(pool, attribute, data));
}

pub(crate) fn get(pool: CUmemoryPool, attribute: Attribute) -> u64 {
    let mut value = 0_u64;
    ok!(cuMemPoolGetAttribute(pool, attribute, ptr::from_mut(&mut value).cast()));
    value
}

pub(crate) fn reserved(pool: CUmemoryPool) -> u64 {
    get(pool, Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
}

pub(crate) fn used(pool: CUmemoryPool) -> u64 {
    get(pool, Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
}
