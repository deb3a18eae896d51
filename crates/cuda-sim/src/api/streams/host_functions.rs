//! Host functions in streams.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_void;

use cuda_sys::{CUhostFn, CUresult, CUstream};

use crate::api::{Result, arguments};
use crate::device::machine;
use crate::graph::{CaptureSequence, HostFunction, NodeOperation};

pub(in crate::api) fn cuLaunchHostFunc(
    stream: CUstream,
    function: CUhostFn,
    argument: *mut c_void,
) -> Result {
    let function = function.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    let stream = arguments::capturable(machine()?, stream)?;
    let call = HostFunction::new(function, argument);
    if !CaptureSequence::take_in(&stream, || NodeOperation::Host(call))? {
        stream.queue().enqueue(call.work());
    }
    Ok(())
}
