//! Callbacks: host functions that learn how their stream fared.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use cuda_sys::{CUresult, CUstream, CUstreamCallback};

use crate::api::Result;
use crate::api::arguments::{self, handle, number};
use crate::device::machine;
use crate::queue::StreamWork;

/// Callbacks run also when the device is lost; host functions do not.
pub(in crate::api) fn cuStreamAddCallback(
    stream: CUstream,
    callback: CUstreamCallback,
    argument: *mut c_void,
    flags: c_uint,
) -> Result {
    let callback = callback.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let (named, argument) = (number(stream), argument.expose_provenance());
    let stream = arguments::stream(machine()?, stream)?;
    let context = Arc::clone(stream.context());
    let call = move || {
        context.output.write();
        let status = context.check().err().unwrap_or(CUresult::CUDA_SUCCESS);
        let argument = std::ptr::with_exposed_provenance_mut(argument);
        // SAFETY: the caller gave the function and its argument to be put together on a thread of
        // the driver's.
        unsafe { callback(handle(named), status, argument) }
    };
    stream.queue().enqueue(StreamWork::Callback(Box::new(call)));
    Ok(())
}
