//! Events: recorded in streams, asked, waited for.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;

use cuda_sys::{CUevent, CUevent_flags, CUevent_record_flags, CUresult, CUstream};

use crate::api::Result;
use crate::api::arguments::{self, Out, handle, number};
use crate::device::{Event, current, machine};
use crate::graph::{CaptureSequence, NodeOperation, graphs};

const FLAGS: c_uint = CUevent_flags::CU_EVENT_BLOCKING_SYNC.0
    | CUevent_flags::CU_EVENT_DISABLE_TIMING.0
    | CUevent_flags::CU_EVENT_INTERPROCESS.0;

pub(in crate::api) fn cuEventCreate(out: Out<CUevent>, flags: c_uint) -> Result {
    let context = current::working()?;
    let has = |flag: CUevent_flags| flags & flag.0 != 0;
    let shared = has(CUevent_flags::CU_EVENT_INTERPROCESS);
    if flags & !FLAGS != 0 || (shared && !has(CUevent_flags::CU_EVENT_DISABLE_TIMING)) {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    if shared {
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    let inserted = machine()?.events.insert(|_| Event::new(context, flags));
    out.set(handle(inserted.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?.0));
    Ok(())
}

pub(in crate::api) fn cuEventDestroy_v2(event: CUevent) -> Result {
    let removed = machine()?.events.remove(number(event));
    removed.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?.context.check()
}

pub(in crate::api) fn cuEventRecord(event: CUevent, stream: CUstream) -> Result {
    cuEventRecordWithFlags(event, stream, CUevent_record_flags::CU_EVENT_RECORD_DEFAULT.0)
}

pub(in crate::api) fn cuEventRecordWithFlags(
    event: CUevent,
    stream: CUstream,
    flags: c_uint,
) -> Result {
    let machine = machine()?;
    let event = arguments::event(machine, event)?;
    let stream = arguments::capturable(machine, stream)?;
    if event.context.id != stream.context().id {
        return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
    match CUevent_record_flags(flags) {
        CUevent_record_flags::CU_EVENT_RECORD_DEFAULT => event.record(&stream),
        // A node of the graph records it; outside of captures there is no such thing.
        CUevent_record_flags::CU_EVENT_RECORD_EXTERNAL
            if CaptureSequence::take_in(&stream, || NodeOperation::Record(event))? =>
        {
            Ok(())
        }
        _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
}

pub(in crate::api) fn cuEventQuery(event: CUevent) -> Result {
    let machine = machine()?;
    let event = arguments::event(machine, event)?;
    event.context.check()?;
    let point = event.point()?;
    graphs()?.captures.permit()?;
    if !point.is_none_or(|point| machine.scheduler.is_done(&point)) {
        return Err(CUresult::CUDA_ERROR_NOT_READY);
    }
    event.context.check()
}

pub(in crate::api) fn cuEventSynchronize(event: CUevent) -> Result {
    let machine = machine()?;
    let event = arguments::event(machine, event)?;
    event.context.check()?;
    let point = event.point()?;
    graphs()?.captures.permit()?;
    if let Some(point) = point {
        machine.scheduler.wait(&point);
    }
    event.context.output.write();
    machine.pools.synchronised(event.context.device, &machine.devices);
    event.context.check()
}

pub(in crate::api) fn cuEventElapsedTime(out: Out<f32>, start: CUevent, end: CUevent) -> Result {
    let machine = machine()?;
    let (start, end) = (arguments::event(machine, start)?, arguments::event(machine, end)?);
    out.set(start.elapsed(&end)?);
    Ok(())
}
