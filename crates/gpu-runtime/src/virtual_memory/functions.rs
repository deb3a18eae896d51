//! The driver's functions for virtual memory, which a driver may lack.

use std::ffi::c_ulonglong;

use cuda_sys::{
    CUdeviceptr, CUmemAccessDesc, CUmemAllocationGranularity_flags, CUmemAllocationProp,
    CUmemGenericAllocationHandle as Handle, CUresult, Driver,
};

/// All of them.
pub(super) struct Functions {
    pub(super) reserve:
        unsafe extern "C" fn(*mut CUdeviceptr, usize, usize, CUdeviceptr, c_ulonglong) -> CUresult,
    pub(super) free: unsafe extern "C" fn(CUdeviceptr, usize) -> CUresult,
    pub(super) create: unsafe extern "C" fn(
        *mut Handle,
        usize,
        *const CUmemAllocationProp,
        c_ulonglong,
    ) -> CUresult,
    pub(super) release: unsafe extern "C" fn(Handle) -> CUresult,
    pub(super) map:
        unsafe extern "C" fn(CUdeviceptr, usize, usize, Handle, c_ulonglong) -> CUresult,
    pub(super) unmap: unsafe extern "C" fn(CUdeviceptr, usize) -> CUresult,
    pub(super) set_access:
        unsafe extern "C" fn(CUdeviceptr, usize, *const CUmemAccessDesc, usize) -> CUresult,
    pub(super) granularity: unsafe extern "C" fn(
        *mut usize,
        *const CUmemAllocationProp,
        CUmemAllocationGranularity_flags,
    ) -> CUresult,
}

impl Functions {
    /// The functions of a driver, if it has them all.
    pub(super) fn of(driver: &Driver) -> Option<Functions> {
        Some(Functions {
            reserve: driver.cuMemAddressReserve?,
            free: driver.cuMemAddressFree?,
            create: driver.cuMemCreate?,
            release: driver.cuMemRelease?,
            map: driver.cuMemMap?,
            unmap: driver.cuMemUnmap?,
            set_access: driver.cuMemSetAccess?,
            granularity: driver.cuMemGetAllocationGranularity?,
        })
    }
}
