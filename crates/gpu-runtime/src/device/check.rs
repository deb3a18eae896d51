//! From the driver's results to errors: one way for every call.

use std::ffi::{CStr, c_char};
use std::ptr::null;

use cuda_sys::{CUresult, Driver};

use super::{DeviceState, lost};
use crate::error::{CaptureProblem, Error, Result};
use crate::types::StreamId;

/// Checks a call that concerns no device.
pub(crate) fn without_device(driver: &Driver, call: &'static str, result: CUresult) -> Result<()> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        result => Err(Error::Driver {
            call,
            device: None,
            stream: None,
            code: result.0,
            name: name(result),
            text: text(driver, result),
        }),
    }
}

/// Checks a call that concerns a device.
#[inline]
pub(crate) fn on_device(state: &DeviceState, call: &'static str, result: CUresult) -> Result<()> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        result => Err(failure(state, call, None, result)),
    }
}

/// Checks a call that concerns a stream.
#[inline]
pub(crate) fn on_stream(
    state: &DeviceState,
    stream: StreamId,
    call: &'static str,
    result: CUresult,
) -> Result<()> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        result => Err(failure(state, call, Some(stream), result)),
    }
}

/// Checks a query: `false` says that the work is not done yet.
#[inline]
pub(crate) fn query(
    state: &DeviceState,
    stream: Option<StreamId>,
    call: &'static str,
    result: CUresult,
) -> Result<bool> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(true),
        CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        result => Err(failure(state, call, stream, result)),
    }
}

#[cold]
fn failure(
    state: &DeviceState,
    call: &'static str,
    stream: Option<StreamId>,
    result: CUresult,
) -> Error {
    if lost::is_sticky(result) {
        return lost::declare(state, call, stream, result).error();
    }
    // The driver gave the capture up that the stream takes part in, perhaps because of what another
    // thread does, who began the capture after this one had looked for one.
    if result == CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED {
        return Error::Capture { operation: call, problem: CaptureProblem::Broken };
    }
    Error::Driver {
        call,
        device: Some(state.device),
        stream,
        code: result.0,
        name: name(result),
        text: text(state.driver, result),
    }
}

/// The driver's name for a result, such as `CUDA_ERROR_INVALID_VALUE`.
pub(crate) fn name(result: CUresult) -> &'static str {
    result.name().unwrap_or("an error that is newer than this program")
}

/// The driver's sentence for a result.
pub(crate) fn text(driver: &Driver, result: CUresult) -> &'static str {
    let mut text: *const c_char = null();
    // SAFETY: `text` is writable.
    let told = unsafe { (driver.cuGetErrorString)(result, &mut text) };
    if told != CUresult::CUDA_SUCCESS || text.is_null() {
        return "the driver does not describe this error";
    }
    // SAFETY: the driver gave a NUL-terminated string of its own constants, and is never unloaded.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("the description is not UTF-8")
}
