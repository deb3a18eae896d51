//! Copies of bytes, within a device and between devices and the host.

use std::ffi::{c_int, c_void};

use cuda_sys::{CUmemcpyAttributes, CUstream};

use crate::address::{address, out};
use crate::api::{calls_on_device, waited_for};
use crate::context;
use crate::driver::cu;
use crate::error::{Result, cudaError_t};
use crate::types::cudaMemcpyKind;

calls_on_device! {
    fn cudaMemcpy | cudaMemcpy_ptds [let stream] (
        to: *mut c_void,
        from: *const c_void,
        count: usize,
        kind: cudaMemcpyKind,
    ) {
        copy(to, from, count, kind, stream)
    }
    fn cudaMemcpyAsync | cudaMemcpyAsync_ptsz [stream] (
        to: *mut c_void,
        from: *const c_void,
        count: usize,
        kind: cudaMemcpyKind,
        stream: CUstream,
    ) {
        copy_async(to, from, count, kind, stream)
    }
    fn cudaMemcpyPeer(
        to: *mut c_void,
        to_device: c_int,
        from: *const c_void,
        from_device: c_int,
        count: usize,
    ) {
        let (to_context, from_context) =
            (context::primary(to_device)?, context::primary(from_device)?);
        cu::cuMemcpyPeer(address(to), to_context, address(from), from_context, count)
    }
    fn cudaMemcpyPeerAsync(
        to: *mut c_void,
        to_device: c_int,
        from: *const c_void,
        from_device: c_int,
        count: usize,
        stream: CUstream,
    ) {
        let (to_context, from_context) =
            (context::primary(to_device)?, context::primary(from_device)?);
        cu::cuMemcpyPeerAsync(address(to), to_context, address(from), from_context, count, stream)
    }
    fn cudaMemcpyBatchAsync_12 | cudaMemcpyBatchAsync_12_ptsz [stream] (
        to: *mut *mut c_void,
        from: *mut *mut c_void,
        sizes: *mut usize,
        count: usize,
        attributes: *mut CUmemcpyAttributes,
        attribute_indices: *mut usize,
        attribute_count: usize,
        failed: *mut usize,
        stream: CUstream,
    ) {
        let (to, from) = (out(to), out(from));
        cu::cuMemcpyBatchAsync(
            to, from, sizes, count, attributes, attribute_indices, attribute_count, failed, stream,
        )
    }
    fn cudaMemcpyBatchAsync_13 | cudaMemcpyBatchAsync_13_ptsz [stream] (
        to: *mut *mut c_void,
        from: *mut *mut c_void,
        sizes: *mut usize,
        count: usize,
        attributes: *mut CUmemcpyAttributes,
        attribute_indices: *mut usize,
        attribute_count: usize,
        stream: CUstream,
    ) {
        let (to, from) = (out(to), out(from));
        cu::cuMemcpyBatchAsync_v2(
            to, from, sizes, count, attributes, attribute_indices, attribute_count, stream,
        )
    }
}

impl cudaMemcpyKind {
    /// `cudaMemcpyHostToHost`.
    pub(crate) const HOST_TO_HOST: Self = Self(0);
    /// `cudaMemcpyHostToDevice`.
    pub(crate) const HOST_TO_DEVICE: Self = Self(1);
    /// `cudaMemcpyDeviceToHost`.
    pub(crate) const DEVICE_TO_HOST: Self = Self(2);
    /// `cudaMemcpyDeviceToDevice`.
    pub(crate) const DEVICE_TO_DEVICE: Self = Self(3);
    /// `cudaMemcpyDefault`: the addresses tell.
    pub(crate) const DEFAULT: Self = Self(4);
}

/// Copies, and waits until the bytes are there.
///
/// # Safety
/// The arguments must be what [`cudaMemcpy`] asks for.
pub(crate) unsafe fn copy(
    to: *mut c_void,
    from: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
    default_stream: CUstream,
) -> Result {
    let now = || {
        check(kind)?;
        if count == 0 {
            return Ok(());
        }
        // SAFETY: the caller's addresses are as the kind says, or the driver refuses them.
        unsafe {
            match kind {
                cudaMemcpyKind::HOST_TO_DEVICE => cu::cuMemcpyHtoD_v2(address(to), from, count),
                cudaMemcpyKind::DEVICE_TO_HOST => cu::cuMemcpyDtoH_v2(to, address(from), count),
                cudaMemcpyKind::DEVICE_TO_DEVICE => {
                    cu::cuMemcpyDtoD_v2(address(to), address(from), count)
                }
                _ => cu::cuMemcpy(address(to), address(from), count),
            }
        }
    };
    // SAFETY: as this function.
    waited_for(default_stream, now, |stream| unsafe { copy_async(to, from, count, kind, stream) })
}

/// Enqueues a copy.
///
/// # Safety
/// The arguments must be what [`cudaMemcpyAsync`] asks for.
pub(crate) unsafe fn copy_async(
    to: *mut c_void,
    from: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
    stream: CUstream,
) -> Result {
    check(kind)?;
    if count == 0 {
        return Ok(());
    }
    // SAFETY: the caller's addresses are as the kind says, or the driver refuses them.
    unsafe {
        match kind {
            cudaMemcpyKind::HOST_TO_DEVICE => {
                cu::cuMemcpyHtoDAsync_v2(address(to), from, count, stream)
            }
            cudaMemcpyKind::DEVICE_TO_HOST => {
                cu::cuMemcpyDtoHAsync_v2(to, address(from), count, stream)
            }
            cudaMemcpyKind::DEVICE_TO_DEVICE => {
                cu::cuMemcpyDtoDAsync_v2(address(to), address(from), count, stream)
            }
            _ => cu::cuMemcpyAsync(address(to), address(from), count, stream),
        }
    }
}

/// Refuses what is no direction.
pub(crate) fn check(kind: cudaMemcpyKind) -> Result {
    let known = kind.0 <= cudaMemcpyKind::DEFAULT.0;
    if known { Ok(()) } else { Err(cudaError_t::cudaErrorInvalidMemcpyDirection) }
}
