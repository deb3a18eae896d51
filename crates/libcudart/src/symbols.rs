//! Variables of the program's device code, by their names in the host's code.

use std::ffi::c_void;

use cuda_sys::CUstream;

use crate::api::calls_on_device;
use crate::copies::{copy, copy_async};
use crate::error::{Result, cudaError_t};
use crate::registry;
use crate::types::cudaMemcpyKind;

calls_on_device! {
    fn cudaGetSymbolAddress(pointer: *mut *mut c_void, symbol: *const c_void) {
        pointer.write(part(symbol, 0, 0)?);
        Ok(())
    }
    fn cudaGetSymbolSize(size: *mut usize, symbol: *const c_void) {
        let (_, bytes) = registry::variable(symbol)?;
        size.write(bytes);
        Ok(())
    }
    fn cudaMemcpyToSymbol | cudaMemcpyToSymbol_ptds [let stream] (
        symbol: *const c_void,
        from: *const c_void,
        count: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        copy(written(symbol, count, offset, kind)?, from, count, kind, stream)
    }
    fn cudaMemcpyToSymbolAsync | cudaMemcpyToSymbolAsync_ptsz [stream] (
        symbol: *const c_void,
        from: *const c_void,
        count: usize,
        offset: usize,
        kind: cudaMemcpyKind,
        stream: CUstream,
    ) {
        copy_async(written(symbol, count, offset, kind)?, from, count, kind, stream)
    }
    fn cudaMemcpyFromSymbol | cudaMemcpyFromSymbol_ptds [let stream] (
        to: *mut c_void,
        symbol: *const c_void,
        count: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        copy(to, read(symbol, count, offset, kind)?, count, kind, stream)
    }
    fn cudaMemcpyFromSymbolAsync | cudaMemcpyFromSymbolAsync_ptsz [stream] (
        to: *mut c_void,
        symbol: *const c_void,
        count: usize,
        offset: usize,
        kind: cudaMemcpyKind,
        stream: CUstream,
    ) {
        copy_async(to, read(symbol, count, offset, kind)?, count, kind, stream)
    }
}

/// The address that a copy of this kind writes in a variable.
pub(crate) fn written(
    symbol: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> Result<*mut c_void> {
    if kind == cudaMemcpyKind::HOST_TO_HOST || kind == cudaMemcpyKind::DEVICE_TO_HOST {
        return Err(cudaError_t::cudaErrorInvalidMemcpyDirection);
    }
    part(symbol, count, offset)
}

/// The address that a copy of this kind reads in a variable.
pub(crate) fn read(
    symbol: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> Result<*const c_void> {
    if kind == cudaMemcpyKind::HOST_TO_HOST || kind == cudaMemcpyKind::HOST_TO_DEVICE {
        return Err(cudaError_t::cudaErrorInvalidMemcpyDirection);
    }
    part(symbol, count, offset).map(<*mut c_void>::cast_const)
}

/// The address of `count` bytes of a variable, in the current context.
///
/// # Errors
/// `cudaErrorInvalidSymbol` if there is no such variable, `cudaErrorInvalidValue` if it ends before
/// the bytes do.
fn part(symbol: *const c_void, count: usize, offset: usize) -> Result<*mut c_void> {
    let (address, size) = registry::variable(symbol)?;
    let end = offset.checked_add(count).ok_or(cudaError_t::cudaErrorInvalidValue)?;
    if end > size {
        return Err(cudaError_t::cudaErrorInvalidValue);
    }
    Ok(std::ptr::with_exposed_provenance_mut(address as usize + offset))
}
