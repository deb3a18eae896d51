//! Contexts, and the stack of them that each thread has.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint, c_ulonglong};
use std::ptr;
use std::sync::Arc;

use cuda_sys::{CUcontext, CUctxCreateParams, CUdevice, CUresult};

use super::Result;
use super::arguments::{self, In, Out, handle, number};
use crate::device::settings::checked_flags;
use crate::device::{Context, current, platform};

pub(super) fn cuCtxCreate_v2(out: Out<CUcontext>, flags: c_uint, device: CUdevice) -> Result {
    let platform = platform()?;
    let device = platform.device(device)?;
    let flags = checked_flags(flags)?;
    device.health.check()?;
    let make = |handle| Context::new(platform, device, handle, false, flags);
    let (number, context) =
        platform.contexts.insert(make).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    current::push(platform, context)?;
    out.set(handle(number));
    Ok(())
}

/// A context of all multiprocessors that shares nothing with graphics.
pub(super) fn cuCtxCreate_v4(
    out: Option<Out<CUcontext>>,
    parameters: Option<In<CUctxCreateParams>>,
    flags: c_uint,
    device: CUdevice,
) -> Result {
    let (affinities, graphics) = match parameters.map(|parameters| parameters.read()) {
        Some(asked) => (asked.numExecAffinityParams, asked.cigParams),
        None => (0, ptr::null_mut()),
    };
    match (affinities, graphics.is_null()) {
        (0, true) => cuCtxCreate_v2(out.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?, flags, device),
        (0, false) => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        _ => Err(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY),
    }
}

pub(super) fn cuCtxDestroy_v2(context: CUcontext) -> Result {
    let platform = platform()?;
    let known = arguments::context(platform, context)?;
    if known.is_primary {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    if current::top_handle(platform)? == known.handle {
        drop(current::pop(platform)?);
    }
    // Whoever removes it destroys it: two calls at a time do not both succeed.
    let removed = platform.contexts.remove(known.handle);
    removed.ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?.destroy(platform);
    Ok(())
}

pub(super) fn cuCtxSetCurrent(context: CUcontext) -> Result {
    let platform = platform()?;
    let context =
        (!context.is_null()).then(|| arguments::context(platform, context)).transpose()?;
    current::set(platform, context)
}

pub(super) fn cuCtxGetCurrent(out: Out<CUcontext>) -> Result {
    out.set(handle(current::top_handle(platform()?)?));
    Ok(())
}

pub(super) fn cuCtxPushCurrent_v2(context: CUcontext) -> Result {
    let platform = platform()?;
    if number(context) == 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    current::push(platform, arguments::context(platform, context)?)
}

pub(super) fn cuCtxPopCurrent_v2(out: Option<Out<CUcontext>>) -> Result {
    let popped = current::pop(platform()?)?;
    // A program that does not care passes null.
    if let Some(out) = out {
        out.set(handle(popped.handle));
    }
    Ok(())
}

pub(super) fn cuCtxGetDevice(out: Out<CUdevice>) -> Result {
    out.set(current::current()?.device.id.ordinal as CUdevice);
    Ok(())
}

/// Null stands for the current context.
pub(super) fn cuCtxGetDevice_v2(out: Out<CUdevice>, context: CUcontext) -> Result {
    out.set(given_or_current(context)?.device.id.ordinal as CUdevice);
    Ok(())
}

pub(super) fn cuCtxSynchronize() -> Result {
    cuCtxSynchronize_v2(ptr::null_mut())
}

/// Null stands for the current context.
pub(super) fn cuCtxSynchronize_v2(context: CUcontext) -> Result {
    let context = given_or_current(context)?;
    context.check()?;
    let platform = platform()?;
    platform.scheduler.wait_for_owner(context.id);
    context.output.write();
    platform.pools.synchronised(platform);
    context.check()
}

/// Contexts are those of CUDA 3.2 and newer, whoever makes them.
pub(super) fn cuCtxGetApiVersion(context: CUcontext, out: Out<c_uint>) -> Result {
    const VERSION: c_uint = 3020;
    arguments::context(platform()?, context)?;
    out.set(VERSION);
    Ok(())
}

/// Null stands for the current context.
pub(super) fn cuCtxGetId(context: CUcontext, out: Out<c_ulonglong>) -> Result {
    out.set(given_or_current(context)?.id);
    Ok(())
}

fn given_or_current(context: CUcontext) -> Result<Arc<Context>> {
    if context.is_null() { current::current() } else { arguments::context(platform()?, context) }
}

pub(super) fn cuCtxGetStreamPriorityRange(
    least: Option<Out<c_int>>,
    greatest: Option<Out<c_int>>,
) -> Result {
    current::current()?;
    // A program that does not care for one of them passes null.
    least.into_iter().for_each(|out| out.set(0));
    greatest.into_iter().for_each(|out| out.set(crate::device::GREATEST_PRIORITY));
    Ok(())
}
