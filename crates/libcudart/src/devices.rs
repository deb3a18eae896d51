//! Devices: which there are, which is current, what they are like.

use std::ffi::{c_char, c_int, c_uint};

use cuda_sys::{CUdevice_P2PAttribute, CUdevice_attribute, CUfunc_cache, CUlimit, CUsharedconfig};

use crate::api::{calls, calls_on_device};
use crate::context::{self, handle};
use crate::driver::cu;
use crate::{last_error, registry};

calls! {
    fn cudaGetDeviceCount(count: *mut c_int) {
        count.write(0);
        cu::cuDeviceGetCount(count)
    }
    fn cudaGetDevice(device: *mut c_int) {
        device.write(context::device()?);
        Ok(())
    }
    fn cudaSetDevice(device: c_int) {
        context::choose(device)
    }
    fn cudaInitDevice(device: c_int, device_flags: c_uint, flags: c_uint) {
        if flags & INIT_DEVICE_FLAGS_ARE_VALID != 0 {
            cu::cuDevicePrimaryCtxSetFlags_v2(handle(device)?, device_flags)?;
        }
        context::primary(device).map(drop)
    }
    fn cudaDeviceReset() {
        registry::forget_functions();
        context::reset()?;
        last_error::forget();
        Ok(())
    }
    fn cudaDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: c_int) {
        cu::cuDeviceGetAttribute(value, attribute, handle(device)?)
    }
    fn cudaDeviceGetPCIBusId(id: *mut c_char, length: c_int, device: c_int) {
        cu::cuDeviceGetPCIBusId(id, length, handle(device)?)
    }
    fn cudaDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) {
        cu::cuDeviceGetByPCIBusId(device, id)
    }
    fn cudaSetDeviceFlags(flags: c_uint) {
        cu::cuDevicePrimaryCtxSetFlags_v2(handle(context::device()?)?, flags)
    }
    fn cudaGetDeviceFlags(flags: *mut c_uint) {
        if context::current()?.is_null() {
            let mut active = 0;
            cu::cuDevicePrimaryCtxGetState(handle(context::device()?)?, flags, &mut active)?;
        } else {
            cu::cuCtxGetFlags(flags)?;
        }
        // Page-locked memory can be mapped on all devices with unified addressing.
        flags.write(flags.read() | DEVICE_MAP_HOST);
        Ok(())
    }
    fn cudaDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) {
        cu::cuDeviceCanAccessPeer(can, handle(device)?, handle(peer)?)
    }
    fn cudaDeviceGetP2PAttribute(
        value: *mut c_int,
        attribute: CUdevice_P2PAttribute,
        from: c_int,
        to: c_int,
    ) {
        cu::cuDeviceGetP2PAttribute(value, attribute, handle(from)?, handle(to)?)
    }
}

/// `cudaInitDeviceFlagsAreValid`.
const INIT_DEVICE_FLAGS_ARE_VALID: c_uint = 1;
/// `cudaDeviceMapHost`.
const DEVICE_MAP_HOST: c_uint = 8;

calls_on_device! {
    fn cudaDeviceSynchronize() {
        cu::cuCtxSynchronize()
    }
    fn cudaDeviceEnablePeerAccess(peer: c_int, flags: c_uint) {
        cu::cuCtxEnablePeerAccess(context::primary(peer)?, flags)
    }
    fn cudaDeviceDisablePeerAccess(peer: c_int) {
        cu::cuCtxDisablePeerAccess(context::primary(peer)?)
    }
    fn cudaDeviceGetLimit(value: *mut usize, limit: CUlimit) {
        cu::cuCtxGetLimit(value, limit)
    }
    fn cudaDeviceSetLimit(limit: CUlimit, value: usize) {
        cu::cuCtxSetLimit(limit, value)
    }
    fn cudaDeviceGetCacheConfig(config: *mut CUfunc_cache) {
        cu::cuCtxGetCacheConfig(config)
    }
    fn cudaDeviceSetCacheConfig(config: CUfunc_cache) {
        cu::cuCtxSetCacheConfig(config)
    }
    fn cudaDeviceGetSharedMemConfig(config: *mut CUsharedconfig) {
        cu::cuCtxGetSharedMemConfig(config)
    }
    fn cudaDeviceSetSharedMemConfig(config: CUsharedconfig) {
        cu::cuCtxSetSharedMemConfig(config)
    }
    fn cudaDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        cu::cuCtxGetStreamPriorityRange(least, greatest)
    }
    fn cudaCtxResetPersistingL2Cache() {
        cu::cuCtxResetPersistingL2Cache()
    }
    fn cudaProfilerStart() {
        cu::cuProfilerStart()
    }
    fn cudaProfilerStop() {
        cu::cuProfilerStop()
    }
}
