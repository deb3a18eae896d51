//! Initialisation and version.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint};

use cuda_sys::{CUDA_VERSION, CUresult};

use super::Result;
use super::arguments::Out;
use crate::control;
use crate::device;

pub(super) unsafe fn cuInit(flags: c_uint) -> Result {
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    device::initialise(control::configuration)
}

pub(super) unsafe fn cuDriverGetVersion(version: *mut c_int) -> Result {
    // SAFETY: the caller's promise.
    unsafe { Out::new(version) }?.set(CUDA_VERSION as c_int);
    Ok(())
}
