//! The linker before CUDA 6.5, with the same arguments.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_char, c_uint, c_void};

use cuda_sys::{CUjit_option, CUjitInputType, CUlinkState};

use super::super::Result;
use super::super::linker;

pub(in super::super) unsafe fn cuLinkCreate(
    count: c_uint,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
    state: *mut CUlinkState,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { linker::cuLinkCreate_v2(count, options, values, state) }
}

pub(in super::super) unsafe fn cuLinkAddData(
    state: CUlinkState,
    kind: CUjitInputType,
    data: *mut c_void,
    bytes: usize,
    name: *const c_char,
    count: c_uint,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { linker::cuLinkAddData_v2(state, kind, data, bytes, name, count, options, values) }
}

pub(in super::super) unsafe fn cuLinkAddFile(
    state: CUlinkState,
    kind: CUjitInputType,
    path: *const c_char,
    count: c_uint,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { linker::cuLinkAddFile_v2(state, kind, path, count, options, values) }
}
