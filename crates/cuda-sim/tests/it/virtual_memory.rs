//! Virtual memory management: reserved addresses, physical memory, mappings and access.

mod faults;
mod random;
mod rules;

use std::ptr;

use cuda_sys::{
    CUmemAccess_flags as Flags, CUmemAccessDesc, CUmemAllocationHandleType, CUmemAllocationProp,
    CUmemAllocationProp_st__bindgen_ty_1, CUmemAllocationType, CUmemLocation,
    CUmemLocationType as Kind, CUresult,
};

use crate::cuda;
use crate::ok;

pub(crate) const GRANULE: usize = 2 << 20;
pub(crate) const READ: Flags = Flags::CU_MEM_ACCESS_FLAGS_PROT_READ;
pub(crate) const READ_WRITE: Flags = Flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

pub(crate) fn on_device(ordinal: i32) -> CUmemLocation {
    CUmemLocation { type_: Kind::CU_MEM_LOCATION_TYPE_DEVICE, id: ordinal }
}

pub(crate) fn properties(location: CUmemLocation) -> CUmemAllocationProp {
    CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location,
        win32HandleMetaData: ptr::null_mut(),
        allocFlags: CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    }
}

pub(crate) fn reserve(bytes: usize) -> u64 {
    let mut pointer = 0;
    ok!(cuMemAddressReserve(&mut pointer, bytes, 0, 0, 0));
    pointer
}

pub(crate) fn create(ordinal: i32, bytes: usize) -> u64 {
    let mut handle = 0;
    ok!(cuMemCreate(&mut handle, bytes, &properties(on_device(ordinal)), 0));
    handle
}

pub(crate) fn allow(pointer: u64, bytes: usize, ordinal: i32, flags: Flags) -> CUresult {
    let description = CUmemAccessDesc { location: on_device(ordinal), flags };
    cuda!(cuMemSetAccess(pointer, bytes, &description, 1))
}

/// Maps a handle and gives a device access.
pub(crate) fn map(pointer: u64, bytes: usize, handle: u64, ordinal: i32) {
    ok!(cuMemMap(pointer, bytes, 0, handle, 0));
    assert_eq!(allow(pointer, bytes, ordinal, READ_WRITE), CUresult::CUDA_SUCCESS);
}

pub(crate) fn free_memory() -> usize {
    let (mut free, mut total) = (0, 0);
    ok!(cuMemGetInfo_v2(&mut free, &mut total));
    free
}
