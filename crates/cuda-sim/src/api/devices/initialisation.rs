//! Initialisation and version.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint};

use cuda_sys::{CUDA_VERSION, CUresult};

use crate::api::Result;
use crate::api::arguments::Out;
use crate::{control, device, graph};

pub(in crate::api) fn cuInit(flags: c_uint) -> Result {
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    device::initialise(control::configuration, control::inject_configured, graph::observer())
}

pub(in crate::api) fn cuDriverGetVersion(out: Out<c_int>) -> Result {
    out.set(CUDA_VERSION as c_int);
    Ok(())
}
