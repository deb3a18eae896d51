//! Flags, limits and preferences of the current context.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;

use cuda_sys::{
    CUexecAffinityParam, CUexecAffinityType, CUfunc_cache, CUlimit, CUresult, CUsharedconfig,
};

use crate::api::Result;
use crate::api::arguments::Out;
use crate::device::{current, settings};

pub(in crate::api) fn cuCtxGetFlags(out: Out<c_uint>) -> Result {
    out.set(current::current()?.settings.flags());
    Ok(())
}

pub(in crate::api) fn cuCtxSetFlags(flags: c_uint) -> Result {
    let context = current::current()?;
    context.settings.set_flags(settings::checked_flags(flags)?);
    Ok(())
}

pub(in crate::api) fn cuCtxGetLimit(out: Out<usize>, limit: CUlimit) -> Result {
    out.set(current::current()?.settings.limit(limit)?);
    Ok(())
}

pub(in crate::api) fn cuCtxSetLimit(limit: CUlimit, value: usize) -> Result {
    current::working()?.settings.set_limit(limit, value)
}

pub(in crate::api) fn cuCtxGetCacheConfig(out: Out<CUfunc_cache>) -> Result {
    out.set(current::current()?.settings.cache());
    Ok(())
}

pub(in crate::api) fn cuCtxSetCacheConfig(preference: CUfunc_cache) -> Result {
    current::working()?.settings.set_cache(preference)
}

pub(in crate::api) fn cuCtxGetSharedMemConfig(out: Out<CUsharedconfig>) -> Result {
    out.set(current::current()?.settings.banks());
    Ok(())
}

pub(in crate::api) fn cuCtxSetSharedMemConfig(size: CUsharedconfig) -> Result {
    current::working()?;
    settings::check_banks(size)
}

/// Part of a cache can be set aside from compute capability 8.0 on; there is no cache here.
pub(in crate::api) fn cuCtxResetPersistingL2Cache() -> Result {
    current::working()?;
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

/// Contexts of a part of the multiprocessors need the Multi-Process Service.
pub(in crate::api) fn cuCtxGetExecAffinity(
    _affinity: Out<CUexecAffinityParam>,
    _kind: CUexecAffinityType,
) -> Result {
    current::current()?;
    Err(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY)
}
