//! Contexts that programs make themselves, and the stack of them that each thread has.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_uint, c_ulonglong};
use std::ptr;

use cuda_sys::{CUcontext, CUctxCreateParams, CUdevice, CUresult};

use crate::api::Result;
use crate::api::arguments::{self, In, Out, handle, number};
use crate::api::devices::contexts::given_or_current;
use crate::device::settings::checked_flags;
use crate::device::{Context, current, machine, teardown};

pub(in crate::api) fn cuCtxCreate_v2(
    out: Out<CUcontext>,
    flags: c_uint,
    device: CUdevice,
) -> Result {
    let machine = machine()?;
    let device = machine.device(device)?;
    let flags = checked_flags(flags)?;
    device.health.check()?;
    let make = |handle| Context::new(machine.scheduler, device, handle, false, flags);
    let (number, context) =
        machine.contexts.insert(make).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    current::push(machine, context)?;
    out.set(handle(number));
    Ok(())
}

/// A context of all multiprocessors that shares nothing with graphics.
pub(in crate::api) fn cuCtxCreate_v4(
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

pub(in crate::api) fn cuCtxDestroy_v2(context: CUcontext) -> Result {
    let machine = machine()?;
    let known = arguments::context(machine, context)?;
    if known.is_primary {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    if current::top_handle(machine)? == known.handle {
        drop(current::pop(machine)?);
    }
    // Whoever removes it destroys it: two calls at a time do not both succeed.
    let removed = machine.contexts.remove(known.handle);
    let context = removed.ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
    teardown::destroy_context(machine, &context);
    Ok(())
}

pub(in crate::api) fn cuCtxPushCurrent_v2(context: CUcontext) -> Result {
    let machine = machine()?;
    if number(context) == 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    current::push(machine, arguments::context(machine, context)?)
}

pub(in crate::api) fn cuCtxPopCurrent_v2(out: Option<Out<CUcontext>>) -> Result {
    let popped = current::pop(machine()?)?;
    // A program that does not care passes null.
    if let Some(out) = out {
        out.set(handle(popped.handle));
    }
    Ok(())
}

pub(in crate::api) fn cuCtxGetDevice(out: Out<CUdevice>) -> Result {
    out.set(current::current()?.device.id.ordinal as CUdevice);
    Ok(())
}

/// Null stands for the current context.
pub(in crate::api) fn cuCtxGetDevice_v2(out: Out<CUdevice>, context: CUcontext) -> Result {
    out.set(given_or_current(context)?.device.id.ordinal as CUdevice);
    Ok(())
}

/// Contexts are those of CUDA 3.2 and newer, whoever makes them.
pub(in crate::api) fn cuCtxGetApiVersion(context: CUcontext, out: Out<c_uint>) -> Result {
    const VERSION: c_uint = 3020;
    arguments::context(machine()?, context)?;
    out.set(VERSION);
    Ok(())
}

/// Null stands for the current context.
pub(in crate::api) fn cuCtxGetId(context: CUcontext, out: Out<c_ulonglong>) -> Result {
    out.set(given_or_current(context)?.id);
    Ok(())
}
