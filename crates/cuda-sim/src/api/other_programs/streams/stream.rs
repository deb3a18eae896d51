//! Streams without a priority, and their identities.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_uint, c_ulonglong};

use cuda_sys::CUstream;

use crate::api::Result;
use crate::api::arguments::Out;
use crate::api::streams::stream::{cuStreamCreateWithPriority, find};

pub(in crate::api) fn cuStreamCreate(out: Out<CUstream>, flags: c_uint) -> Result {
    cuStreamCreateWithPriority(out, flags, 0)
}

pub(in crate::api) fn cuStreamGetId(stream: CUstream, out: Out<c_ulonglong>) -> Result {
    out.set(find(stream)?.id());
    Ok(())
}
