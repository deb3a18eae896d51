//! The current context of each thread.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;

use cuda_sys::CUcontext;

use crate::api::Result;
use crate::api::arguments::{self, Out, handle};
use crate::device::{Context, current, machine};

pub(in crate::api) fn cuCtxSetCurrent(context: CUcontext) -> Result {
    let machine = machine()?;
    let context = (!context.is_null()).then(|| arguments::context(machine, context)).transpose()?;
    current::set(machine, context)
}

pub(in crate::api) fn cuCtxGetCurrent(out: Out<CUcontext>) -> Result {
    out.set(handle(current::top_handle(machine()?)?));
    Ok(())
}

pub(in crate::api) fn cuCtxSynchronize() -> Result {
    cuCtxSynchronize_v2(ptr::null_mut())
}

/// Null stands for the current context.
pub(in crate::api) fn cuCtxSynchronize_v2(context: CUcontext) -> Result {
    let context = given_or_current(context)?;
    context.check()?;
    let machine = machine()?;
    machine.scheduler.wait_for_owner(context.id);
    context.output.write();
    machine.pools.synchronised(context.device, &machine.devices);
    context.check()
}

pub(in crate::api) fn given_or_current(context: CUcontext) -> Result<Arc<Context>> {
    if context.is_null() { current::current() } else { arguments::context(machine()?, context) }
}

pub(in crate::api) fn cuCtxGetStreamPriorityRange(
    least: Option<Out<c_int>>,
    greatest: Option<Out<c_int>>,
) -> Result {
    current::current()?;
    // A program that does not care for one of them passes null.
    least.into_iter().for_each(|out| out.set(0));
    greatest.into_iter().for_each(|out| out.set(crate::device::GREATEST_PRIORITY));
    Ok(())
}
