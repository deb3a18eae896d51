//! Events of whole contexts.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{CUcontext, CUevent, CUresult};

use crate::api::Result;
use crate::api::arguments::{self, Out};
use crate::api::streams::events::cuEventElapsedTime;
use crate::device::machine;
use crate::graph::graphs;

pub(in crate::api) fn cuCtxRecordEvent(context: CUcontext, event: CUevent) -> Result {
    let machine = machine()?;
    let context = arguments::context(machine, context)?;
    let event = arguments::event(machine, event)?;
    context.check()?;
    if event.context.id != context.id {
        return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
    graphs()?.captures.permit_context(context.id)?;
    event.record_context();
    Ok(())
}

pub(in crate::api) fn cuCtxWaitEvent(context: CUcontext, event: CUevent) -> Result {
    let machine = machine()?;
    let context = arguments::context(machine, context)?;
    let event = arguments::event(machine, event)?;
    context.check()?;
    graphs()?.captures.permit_context(context.id)?;
    let point = event.point().map_err(|_| CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)?;
    point.into_iter().for_each(|point| context.awaited.add(point));
    Ok(())
}

/// The same as [`cuEventElapsedTime`]: the errors that CUDA 12.8 told apart are told apart by both.
pub(in crate::api) fn cuEventElapsedTime_v2(out: Out<f32>, start: CUevent, end: CUevent) -> Result {
    cuEventElapsedTime(out, start, end)
}
