//! Names and modules of functions, and hints for them.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_char;

use cuda_sys::{
    CUfunc_cache, CUfunction, CUfunctionLoadingState as LoadingState, CUmodule, CUsharedconfig,
};

use crate::api::Result;
use crate::api::arguments::{self, Out, handle};
use crate::api::code::functions::working;
use crate::device::{machine, settings};

/// The name lives as long as the function.
pub(in crate::api) fn cuFuncGetName(out: Out<*const c_char>, function: CUfunction) -> Result {
    out.set(arguments::function(machine()?, function)?.c_name().as_ptr());
    Ok(())
}

pub(in crate::api) fn cuFuncGetModule(out: Out<CUmodule>, function: CUfunction) -> Result {
    out.set(handle(arguments::function(machine()?, function)?.module.handle));
    Ok(())
}

pub(in crate::api) fn cuFuncIsLoaded(out: Out<LoadingState>, function: CUfunction) -> Result {
    arguments::function(machine()?, function)?;
    out.set(LoadingState::CU_FUNCTION_LOADING_STATE_LOADED);
    Ok(())
}

pub(in crate::api) fn cuFuncLoad(function: CUfunction) -> Result {
    working(function).map(drop)
}

/// A hint; there is no cache to be divided here.
pub(in crate::api) fn cuFuncSetCacheConfig(
    function: CUfunction,
    preference: CUfunc_cache,
) -> Result {
    working(function)?;
    settings::check_cache(preference)
}

/// A hint that no device takes any more.
pub(in crate::api) fn cuFuncSetSharedMemConfig(
    function: CUfunction,
    size: CUsharedconfig,
) -> Result {
    working(function)?;
    settings::check_banks(size)
}
