//! Contexts: functions that newer ones with the same purpose have replaced.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint};

use cuda_sys::{CUcontext, CUdevice, CUexecAffinityParam, CUresult};

use crate::api::Result;
use crate::api::arguments::{self, Out, handle};
use crate::api::other_programs::devices::contexts::{
    cuCtxCreate_v2, cuCtxDestroy_v2, cuCtxPopCurrent_v2, cuCtxPushCurrent_v2,
};
use crate::api::other_programs::devices::primary_contexts::{
    cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxSetFlags_v2,
};
use crate::device::{current, machine, primary, settings};

/// The function before CUDA 3.2, which made pointers wide.
pub(in crate::api) fn cuCtxCreate(out: Out<CUcontext>, flags: c_uint, device: CUdevice) -> Result {
    cuCtxCreate_v2(out, flags, device)
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
    cuCtxCreate_v2(out.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?, flags, device)
}

/// The function before CUDA 4.0, when a context belonged to one thread.
pub(in crate::api) fn cuCtxDestroy(context: CUcontext) -> Result {
    cuCtxDestroy_v2(context)
}

pub(in crate::api) fn cuCtxPushCurrent(context: CUcontext) -> Result {
    cuCtxPushCurrent_v2(context)
}

pub(in crate::api) fn cuCtxPopCurrent(out: Option<Out<CUcontext>>) -> Result {
    cuCtxPopCurrent_v2(out)
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
    let known = arguments::context(machine()?, context)?;
    if current::current()?.id != known.id || known.is_primary {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    if known.detach() {
        return Ok(());
    }
    cuCtxDestroy_v2(context)
}

/// The function before CUDA 11.0.
pub(in crate::api) fn cuDevicePrimaryCtxRelease(device: CUdevice) -> Result {
    cuDevicePrimaryCtxRelease_v2(device)
}

/// The function before CUDA 11.0.
pub(in crate::api) fn cuDevicePrimaryCtxReset(device: CUdevice) -> Result {
    cuDevicePrimaryCtxReset_v2(device)
}

/// The function before CUDA 11.0, when the flags of an active context stayed as they were.
pub(in crate::api) fn cuDevicePrimaryCtxSetFlags(device: CUdevice, flags: c_uint) -> Result {
    let machine = machine()?;
    let known = machine.device(device)?;
    let flags = settings::checked_flags(flags)?;
    if primary::is_active(machine, known) && known.primary_flags() != flags {
        return Err(CUresult::CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);
    }
    cuDevicePrimaryCtxSetFlags_v2(device, flags)
}
