//! Contexts: functions that newer ones with the same purpose have replaced.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint};

use cuda_sys::{CUcontext, CUdevice, CUexecAffinityParam, CUresult};

use crate::api::Result;
use crate::api::arguments::{self, Out, handle};
use crate::api::other_programs::devices::{
    contexts as context, primary_contexts as primary_context,
};
use crate::device::{current, platform, settings};

/// Before CUDA 3.2, which made pointers wide.
pub(in crate::api) fn cuCtxCreate(out: Out<CUcontext>, flags: c_uint, device: CUdevice) -> Result {
    context::cuCtxCreate_v2(out, flags, device)
}

/// CUDA 11.4 to 12.4: with a share of the multiprocessors.
pub(in crate::api) fn cuCtxCreate_v3(
    out: Option<Out<CUcontext>>,
    _affinities: *mut CUexecAffinityParam,
    count: c_int,
    flags: c_uint,
    device: CUdevice,
) -> Result {
    if count != 0 {
        return Err(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    }
    context::cuCtxCreate_v2(out.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?, flags, device)
}

/// Before CUDA 4.0, when a context belonged to one thread.
pub(in crate::api) fn cuCtxDestroy(context: CUcontext) -> Result {
    context::cuCtxDestroy_v2(context)
}

pub(in crate::api) fn cuCtxPushCurrent(context: CUcontext) -> Result {
    context::cuCtxPushCurrent_v2(context)
}

pub(in crate::api) fn cuCtxPopCurrent(out: Option<Out<CUcontext>>) -> Result {
    context::cuCtxPopCurrent_v2(out)
}

/// One more use of the current context.
pub(in crate::api) fn cuCtxAttach(out: Out<CUcontext>, flags: c_uint) -> Result {
    let context = current::current()?;
    if flags != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    context.attach();
    out.set(handle(context.handle));
    Ok(())
}

/// One use less of the current context; the last one destroys it.
pub(in crate::api) fn cuCtxDetach(context: CUcontext) -> Result {
    let known = arguments::context(platform()?, context)?;
    if current::current()?.id != known.id || known.is_primary {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    if known.detach() {
        return Ok(());
    }
    context::cuCtxDestroy_v2(context)
}

/// Before CUDA 11.0.
pub(in crate::api) fn cuDevicePrimaryCtxRelease(device: CUdevice) -> Result {
    primary_context::cuDevicePrimaryCtxRelease_v2(device)
}

/// Before CUDA 11.0.
pub(in crate::api) fn cuDevicePrimaryCtxReset(device: CUdevice) -> Result {
    primary_context::cuDevicePrimaryCtxReset_v2(device)
}

/// Before CUDA 11.0, when the flags of an active context stayed as they were.
pub(in crate::api) fn cuDevicePrimaryCtxSetFlags(device: CUdevice, flags: c_uint) -> Result {
    let platform = platform()?;
    let known = platform.device(device)?;
    let flags = settings::checked_flags(flags)?;
    if known.primary_is_active(platform) && known.primary_flags() != flags {
        return Err(CUresult::CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);
    }
    primary_context::cuDevicePrimaryCtxSetFlags_v2(device, flags)
}
