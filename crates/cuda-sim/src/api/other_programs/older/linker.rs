//! The linker before CUDA 6.5, with the same arguments.

#![allow(non_snake_case, reason = "the names of the C API")]
#![expect(clippy::too_many_arguments, reason = "as many as CUDA gives the functions")]

use cuda_sys::{CUjit_option, CUjitInputType, CUlinkState};

use crate::api::Result;
use crate::api::arguments::{Count, List, Out};
use crate::api::code::jit_options::{JitOptions, OptionValues};
use crate::api::other_programs::code::linker::{
    cuLinkAddData_v2, cuLinkAddFile_v2, cuLinkCreate_v2,
};

pub(in crate::api) fn cuLinkCreate(
    count: Count<JitOptions>,
    options: List<CUjit_option, JitOptions>,
    values: OptionValues,
    out: Out<CUlinkState>,
) -> Result {
    cuLinkCreate_v2(count, options, values, out)
}

pub(in crate::api) fn cuLinkAddData(
    state: CUlinkState,
    kind: CUjitInputType,
    data: List<u8>,
    bytes: Count,
    name: Option<&str>,
    count: Count<JitOptions>,
    options: List<CUjit_option, JitOptions>,
    values: OptionValues,
) -> Result {
    cuLinkAddData_v2(state, kind, data, bytes, name, count, options, values)
}

pub(in crate::api) fn cuLinkAddFile(
    state: CUlinkState,
    kind: CUjitInputType,
    path: Option<&str>,
    count: Count<JitOptions>,
    options: List<CUjit_option, JitOptions>,
    values: OptionValues,
) -> Result {
    cuLinkAddFile_v2(state, kind, path, count, options, values)
}
