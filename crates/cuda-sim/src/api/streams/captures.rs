//! Captures of streams into graphs, and the calls that they forbid.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;
use std::sync::Arc;

use cuda_sys::{
    CUgraph, CUgraphEdgeData, CUgraphNode, CUresult, CUstream, CUstreamCaptureMode,
    CUstreamCaptureStatus, CUstreamUpdateCaptureDependencies_flags as UpdateFlags, cuuint64_t,
};

use crate::api::Result;
use crate::api::arguments::{Count, InOut, List, Out, handle, number};
use crate::api::graphs::structure::edges;
use crate::control::DriverFunction;
use crate::device::{Stream, StreamCapture, StreamRef, current, machine};
use crate::graph::{CaptureSequence, Captures, StreamCaptureMode, graphs};

pub(in crate::api) fn cuStreamBeginCapture_v2(
    stream: CUstream,
    mode: CUstreamCaptureMode,
) -> Result {
    let machine = machine()?;
    let stream = own(StreamRef::resolve(machine, number(stream))?)?;
    let mode = StreamCaptureMode::new(mode)?;
    stream.context.check()?;
    let graphs = graphs()?;
    CaptureSequence::begin(&graphs.table, &graphs.captures, &stream, mode, None)
}

pub(in crate::api) fn cuStreamEndCapture(stream: CUstream, out: Out<CUgraph>) -> Result {
    let stream = StreamRef::resolve(machine()?, number(stream))?;
    let illegal = CUresult::CUDA_ERROR_ILLEGAL_STATE;
    let StreamRef::Other(stream) = stream else { return Err(illegal) };
    let captured = CaptureSequence::of(&stream).ok_or(illegal)?.end(&stream);
    out.set(handle(captured.as_ref().map_or(0, |graph| graph.handle)));
    captured.map(drop)
}

pub(in crate::api) fn cuStreamIsCapturing(
    stream: CUstream,
    out: Out<CUstreamCaptureStatus>,
) -> Result {
    let machine = machine()?;
    let stream = StreamRef::resolve(machine, number(stream))?;
    out.set(status_of(&stream)?.0);
    Ok(())
}

pub(in crate::api) fn cuStreamGetCaptureInfo_v3(
    stream: CUstream,
    status: Out<CUstreamCaptureStatus>,
    id: Option<Out<cuuint64_t>>,
    graph: Option<Out<CUgraph>>,
    dependencies: Option<Out<*const CUgraphNode>>,
    data: Option<Out<*const CUgraphEdgeData>>,
    count: Option<Out<usize>>,
) -> Result {
    if data.is_some() && dependencies.is_none() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let machine = machine()?;
    let stream = StreamRef::resolve(machine, number(stream))?;
    let (answer, capture) = status_of(&stream)?;
    if let (StreamRef::Other(stream), Some(capture)) = (&stream, capture) {
        let info = capture.info(stream)?;
        if info.has_ports && dependencies.is_some() && data.is_none() {
            return Err(CUresult::CUDA_ERROR_LOSSY_QUERY);
        }
        id.into_iter().for_each(|out| out.set(capture.id));
        graph.into_iter().for_each(|out| out.set(handle(capture.graph.handle)));
        dependencies.into_iter().for_each(|out| out.set(info.dependencies.cast()));
        data.into_iter().for_each(|out| out.set(info.ports.cast()));
        count.into_iter().for_each(|out| out.set(info.count));
    }
    status.set(answer);
    Ok(())
}

pub(in crate::api) fn cuStreamUpdateCaptureDependencies_v2(
    stream: CUstream,
    dependencies: List<CUgraphNode>,
    data: List<CUgraphEdgeData>,
    count: Count,
    flags: c_uint,
) -> Result {
    let machine = machine()?;
    let stream = StreamRef::resolve(machine, number(stream))?;
    let illegal = CUresult::CUDA_ERROR_ILLEGAL_STATE;
    let StreamRef::Other(stream) = stream else { return Err(illegal) };
    let capture = CaptureSequence::of(&stream).ok_or(illegal)?;
    let replaces = match UpdateFlags(flags) {
        UpdateFlags::CU_STREAM_ADD_CAPTURE_DEPENDENCIES => false,
        UpdateFlags::CU_STREAM_SET_CAPTURE_DEPENDENCIES => true,
        _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    };
    let edges = edges(&capture.graph, dependencies.of(count), data.of(count))?;
    capture.update(&stream, edges, replaces)
}

pub(in crate::api) fn cuThreadExchangeStreamCaptureMode(
    mode: InOut<CUstreamCaptureMode>,
) -> Result {
    let new = StreamCaptureMode::new(mode.get())?;
    mode.set(new.exchange().number());
    Ok(())
}

/// Refuses calls that are not safe while something is being captured: those that do their work at
/// once, where a capture cannot see it (`cuThreadExchangeStreamCaptureMode`), and those that wait
/// for what does not run. To ask events is not safe either; whether one is captured goes first.
///
/// # Errors
/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`, `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`.
pub(in crate::api) fn permit(function: DriverFunction, captures: &Captures) -> Result {
    if captures.is_empty() {
        return Ok(());
    }
    let name = function.name();
    if name == "cuCtxSynchronize"
        && let Ok(context) = current::current()
    {
        captures.permit_context(context.id)?;
    }
    if UNSAFE.iter().any(|start| name.starts_with(start)) || copies_at_once(name) {
        captures.permit()?;
    }
    Ok(())
}

/// The beginnings of the names of calls that are not safe during a capture.
const UNSAFE: &[&str] = &[
    "cuMemAlloc_",
    "cuMemAllocPitch",
    "cuMemAllocManaged",
    "cuMemAllocHost",
    "cuMemFree_",
    "cuMemFreeHost",
    "cuMemHostAlloc",
    "cuMemHostRegister",
    "cuMemHostUnregister",
    "cuArrayCreate",
    "cuArrayDestroy",
    "cuArray3DCreate",
    "cuMipmappedArray",
    "cuModuleLoad",
    "cuModuleUnload",
    "cuLibraryLoad",
    "cuLibraryUnload",
    "cuLinkComplete",
    "cuCtxSynchronize",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuGraphInstantiate",
    "cuGraphExecDestroy",
    "cuDevicePrimaryCtxReset",
    "cuCtxEnablePeerAccess",
    "cuCtxDisablePeerAccess",
];

/// True if a call copies or fills without a stream: it waits for the legacy default stream.
fn copies_at_once(name: &str) -> bool {
    (name.starts_with("cuMemcpy") || name.starts_with("cuMemset")) && !name.contains("Async")
}

fn status_of(stream: &StreamRef) -> Result<(CUstreamCaptureStatus, Option<Arc<CaptureSequence>>)> {
    if let StreamRef::Legacy(context) = stream
        && graphs()?.captures.blocks_legacy(context.id)
    {
        return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    let capture = match stream {
        StreamRef::Legacy(_) => None,
        StreamRef::Other(stream) => CaptureSequence::of(stream),
    };
    Ok(match capture {
        None => (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE, None),
        Some(capture) if capture.is_valid() => {
            (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE, Some(capture))
        }
        Some(_) => (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED, None),
    })
}

/// A stream that can be captured: any but the legacy default stream.
pub(in crate::api) fn own(stream: StreamRef) -> Result<Arc<Stream>> {
    match stream {
        StreamRef::Other(stream) => Ok(stream),
        StreamRef::Legacy(_) => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
    }
}

pub(in crate::api) fn cuStreamGetCaptureInfo_v2(
    stream: CUstream,
    status: Out<CUstreamCaptureStatus>,
    id: Option<Out<cuuint64_t>>,
    graph: Option<Out<CUgraph>>,
    dependencies: Option<Out<*const CUgraphNode>>,
    count: Option<Out<usize>>,
) -> Result {
    cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, None, count)
}

pub(in crate::api) fn cuStreamUpdateCaptureDependencies(
    stream: CUstream,
    dependencies: List<CUgraphNode>,
    count: Count,
    flags: c_uint,
) -> Result {
    cuStreamUpdateCaptureDependencies_v2(stream, dependencies, List::null(), count, flags)
}
