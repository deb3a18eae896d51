//! Streams: made, synchronised, asked.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint};

use cuda_sys::{CUcontext, CUevent, CUevent_wait_flags, CUresult, CUstream, CUstream_flags};

use crate::api::Result;
use crate::api::arguments::{self, Out, handle, number};
use crate::device::{Stream, StreamRef, current, machine};
use crate::graph::{CaptureSequence, NodeOperation};

pub(in crate::api) fn cuStreamCreateWithPriority(
    out: Out<CUstream>,
    flags: c_uint,
    priority: c_int,
) -> Result {
    let context = current::working()?;
    if flags & !CUstream_flags::CU_STREAM_NON_BLOCKING.0 != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let machine = machine()?;
    let make = |_| Stream::new(context, flags, priority);
    let (number, _) = machine.streams.insert(make).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    out.set(handle(number));
    Ok(())
}

pub(in crate::api) fn cuStreamDestroy_v2(stream: CUstream) -> Result {
    let removed = machine()?.streams.remove(number(stream));
    let stream = removed.ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    if let Some(capture) = stream.capture() {
        capture.stream_destroyed(stream.id);
    }
    stream.context.check()
}

pub(in crate::api) fn cuStreamSynchronize(stream: CUstream) -> Result {
    let machine = machine()?;
    let stream = arguments::stream(machine, stream)?;
    stream.synchronize();
    machine.pools.synchronised(stream.context().device, &machine.devices);
    stream.context().check()
}

pub(in crate::api) fn cuStreamQuery(stream: CUstream) -> Result {
    let stream = arguments::stream(machine()?, stream)?;
    if !stream.queue().is_idle() {
        return Err(CUresult::CUDA_ERROR_NOT_READY);
    }
    stream.context().check()
}

pub(in crate::api) fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> Result {
    let machine = machine()?;
    let stream = arguments::capturable(machine, stream)?;
    let event = arguments::event(machine, event)?;
    let is_external = match CUevent_wait_flags(flags) {
        CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT => false,
        CUevent_wait_flags::CU_EVENT_WAIT_EXTERNAL => true,
        _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    };
    if is_external {
        let captured = CaptureSequence::take_in(&stream, || NodeOperation::Wait(event))?;
        // Outside of captures there is no such thing.
        return if captured { Ok(()) } else { Err(CUresult::CUDA_ERROR_INVALID_VALUE) };
    }
    stream.wait_for(&event)
}

pub(in crate::api) fn cuStreamGetPriority(stream: CUstream, out: Out<c_int>) -> Result {
    out.set(find(stream)?.priority());
    Ok(())
}

pub(in crate::api) fn cuStreamGetFlags(stream: CUstream, out: Out<c_uint>) -> Result {
    out.set(find(stream)?.flags());
    Ok(())
}

pub(in crate::api) fn cuStreamGetCtx(stream: CUstream, out: Out<CUcontext>) -> Result {
    out.set(handle(find(stream)?.context().handle));
    Ok(())
}

pub(in crate::api) fn find(stream: CUstream) -> Result<StreamRef> {
    StreamRef::resolve(machine()?, number(stream))
}
