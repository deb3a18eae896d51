//! Host functions in streams.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_void;

use cuda_sys::{CUhostFn, CUresult, CUstream};

use super::Result;
use super::arguments;
use crate::device::platform;
use crate::queue::Work;

pub(super) unsafe fn cuLaunchHostFunc(
    stream: CUstream,
    function: CUhostFn,
    argument: *mut c_void,
) -> Result {
    let function = function.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    let stream = arguments::stream(platform()?, stream)?;
    let argument = Argument(argument);
    let call = move || {
        let argument = argument;
        // SAFETY: the caller gave the function and its argument to be put together on a thread of
        // the driver's.
        unsafe { function(argument.0) }
    };
    stream.queue().enqueue(Work::Host(Box::new(call)));
    Ok(())
}

struct Argument(*mut c_void);

// SAFETY: it is only handed to the program's own function, which expects it on another thread.
unsafe impl Send for Argument {}
