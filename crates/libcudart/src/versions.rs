//! Versions, and the way from the runtime API to the driver's functions.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr::null_mut;

use cuda_sys::CUdriverProcAddressQueryResult;

use crate::api::calls;
use crate::driver::{self, cu};
use crate::error::{Result, cudaError_t};

/// The version of the headers that version 12 was made by.
const VERSION_12: c_int = 12_090;
/// The version of the headers that version 13 was made by.
const VERSION_13: c_int = 13_000;

calls! {
    fn cudaDriverGetVersion(version: *mut c_int) {
        version.write(driver::version()?);
        Ok(())
    }
    fn cudaRuntimeGetVersion_12(version: *mut c_int) {
        version.write(VERSION_12);
        Ok(())
    }
    fn cudaRuntimeGetVersion_13(version: *mut c_int) {
        version.write(VERSION_13);
        Ok(())
    }
    fn cudaGetDriverEntryPoint_12(
        symbol: *const c_char,
        function: *mut *mut c_void,
        flags: c_ulonglong,
        status: *mut CUdriverProcAddressQueryResult,
    ) {
        entry_point(symbol, function, VERSION_12, flags, status)
    }
    fn cudaGetDriverEntryPoint_12_ptsz(
        symbol: *const c_char,
        function: *mut *mut c_void,
        flags: c_ulonglong,
        status: *mut CUdriverProcAddressQueryResult,
    ) {
        entry_point(symbol, function, VERSION_12, per_thread(flags), status)
    }
    fn cudaGetDriverEntryPoint_13(
        symbol: *const c_char,
        function: *mut *mut c_void,
        flags: c_ulonglong,
        status: *mut CUdriverProcAddressQueryResult,
    ) {
        entry_point(symbol, function, VERSION_13, flags, status)
    }
    fn cudaGetDriverEntryPoint_13_ptsz(
        symbol: *const c_char,
        function: *mut *mut c_void,
        flags: c_ulonglong,
        status: *mut CUdriverProcAddressQueryResult,
    ) {
        entry_point(symbol, function, VERSION_13, per_thread(flags), status)
    }
    fn cudaGetDriverEntryPointByVersion(
        symbol: *const c_char,
        function: *mut *mut c_void,
        version: c_uint,
        flags: c_ulonglong,
        status: *mut CUdriverProcAddressQueryResult,
    ) {
        entry_point(symbol, function, version.cast_signed(), flags, status)
    }
    fn cudaGetDriverEntryPointByVersion_ptsz(
        symbol: *const c_char,
        function: *mut *mut c_void,
        version: c_uint,
        flags: c_ulonglong,
        status: *mut CUdriverProcAddressQueryResult,
    ) {
        entry_point(symbol, function, version.cast_signed(), per_thread(flags), status)
    }
}

/// The flags of a program whose default stream is the thread's own: `cudaEnableDefault` asks for
/// the functions that go by that.
fn per_thread(flags: c_ulonglong) -> c_ulonglong {
    const ENABLE_PER_THREAD_DEFAULT_STREAM: c_ulonglong = 2;
    if flags == 0 { ENABLE_PER_THREAD_DEFAULT_STREAM } else { flags }
}

/// Looks a function of the driver up. That there is none is no error: the status says so, and the
/// address is null.
///
/// # Safety
/// The pointers must be as `cudaGetDriverEntryPoint` asks for.
unsafe fn entry_point(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: c_ulonglong,
    status: *mut CUdriverProcAddressQueryResult,
) -> Result {
    if symbol.is_null() || function.is_null() {
        return Err(cudaError_t::cudaErrorInvalidValue);
    }
    // SAFETY: the caller's pointers are valid; the driver allows a status that is null.
    match unsafe { cu::cuGetProcAddress_v2(symbol, function, version, flags, status) } {
        Err(cudaError_t::cudaErrorSymbolNotFound) => {
            // SAFETY: `function` is writable.
            unsafe { function.write(null_mut()) };
            Ok(())
        }
        result => result,
    }
}
