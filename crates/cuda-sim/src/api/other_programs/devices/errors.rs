//! Names of results.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_char;

use cuda_sys::CUresult;

use crate::api::Result;
use crate::api::arguments::Out;
use crate::api::devices::errors::answer;

pub(in crate::api) fn cuGetErrorName(error: CUresult, text: Out<*const c_char>) -> Result {
    answer(error, text, |texts| &texts.name)
}
