//! Flags, limits and preferences of the current context.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;

use cuda_sys::{
    CUexecAffinityParam, CUexecAffinityType, CUfunc_cache, CUlimit, CUresult, CUsharedconfig,
};

use super::Result;
use super::arguments::Out;
use crate::device::{current, settings};

pub(super) unsafe fn cuCtxGetFlags(flags: *mut c_uint) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(flags) }?;
    out.set(current::current()?.settings.flags());
    Ok(())
}

pub(super) unsafe fn cuCtxSetFlags(flags: c_uint) -> Result {
    let context = current::current()?;
    context.settings.set_flags(settings::checked_flags(flags)?);
    Ok(())
}

pub(super) unsafe fn cuCtxGetLimit(value: *mut usize, limit: CUlimit) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(value) }?;
    out.set(current::current()?.settings.limit(limit)?);
    Ok(())
}

pub(super) unsafe fn cuCtxSetLimit(limit: CUlimit, value: usize) -> Result {
    current::working()?.settings.set_limit(limit, value)
}

pub(super) unsafe fn cuCtxGetCacheConfig(preference: *mut CUfunc_cache) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(preference) }?;
    out.set(current::current()?.settings.cache());
    Ok(())
}

pub(super) unsafe fn cuCtxSetCacheConfig(preference: CUfunc_cache) -> Result {
    current::working()?.settings.set_cache(preference)
}

pub(super) unsafe fn cuCtxGetSharedMemConfig(size: *mut CUsharedconfig) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(size) }?;
    out.set(current::current()?.settings.banks());
    Ok(())
}

pub(super) unsafe fn cuCtxSetSharedMemConfig(size: CUsharedconfig) -> Result {
    current::working()?;
    settings::check_banks(size)
}

/// Part of a cache can be set aside from compute capability 8.0 on; there is no cache here.
pub(super) unsafe fn cuCtxResetPersistingL2Cache() -> Result {
    current::working()?;
    Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

/// Contexts of a part of the multiprocessors need the Multi-Process Service.
pub(super) unsafe fn cuCtxGetExecAffinity(
    affinity: *mut CUexecAffinityParam,
    _kind: CUexecAffinityType,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe { Out::new(affinity) }?;
    current::current()?;
    Err(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY)
}
