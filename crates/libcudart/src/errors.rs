//! The calls about errors: the thread's last one, and names and texts.

use std::ffi::c_char;

use crate::error::cudaError_t;
use crate::last_error;

/// `cudaGetLastError` of the runtime API.
pub extern "C" fn cudaGetLastError() -> cudaError_t {
    last_error::take()
}

/// `cudaPeekAtLastError` of the runtime API.
pub extern "C" fn cudaPeekAtLastError() -> cudaError_t {
    last_error::peek()
}

/// `cudaGetErrorName` of the runtime API.
pub extern "C" fn cudaGetErrorName(error: cudaError_t) -> *const c_char {
    error.described().map_or(c"unrecognized error code", |(name, _)| name).as_ptr()
}

/// `cudaGetErrorString` of the runtime API.
pub extern "C" fn cudaGetErrorString(error: cudaError_t) -> *const c_char {
    error.described().map_or(c"unrecognized error code", |(_, text)| text).as_ptr()
}

/// A function that is exported and does nothing else than say that it is not supported.
pub extern "C" fn not_supported() -> cudaError_t {
    last_error::answer(Err(cudaError_t::cudaErrorNotSupported))
}
