//! Captures of streams into graphs.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_uint;
use std::sync::Arc;

use cuda_sys::{
    CUgraph, CUgraphEdgeData, CUgraphNode, CUresult, CUstream, CUstreamCaptureMode,
    CUstreamCaptureStatus, CUstreamUpdateCaptureDependencies_flags as UpdateFlags, cuuint64_t,
};

use super::arguments::{self, Out, handle, number};
use super::graphs::edges;
use super::{Call, Result};
use crate::device::{Platform, Stream, StreamRef, current, platform};
use crate::graph::{Capture, Mode};

pub(super) unsafe fn cuStreamBeginCapture_v2(
    stream: CUstream,
    mode: CUstreamCaptureMode,
) -> Result {
    let platform = platform()?;
    let stream = own(StreamRef::resolve(platform, number(stream))?)?;
    let mode = Mode::new(mode)?;
    stream.context.check()?;
    Capture::begin(&platform.graphs, &stream, mode, None)
}

pub(super) unsafe fn cuStreamBeginCaptureToGraph(
    stream: CUstream,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    count: usize,
    mode: CUstreamCaptureMode,
) -> Result {
    let platform = platform()?;
    let stream = own(StreamRef::resolve(platform, number(stream))?)?;
    let mode = Mode::new(mode)?;
    let graph = arguments::graph(platform, graph)?;
    // SAFETY: the caller's promise.
    let edges = unsafe { edges(platform, &graph, dependencies, data, count) }?;
    stream.context.check()?;
    Capture::begin(&platform.graphs, &stream, mode, Some((graph, edges)))
}

pub(super) unsafe fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(graph) }?;
    let stream = StreamRef::resolve(platform()?, number(stream))?;
    let illegal = CUresult::CUDA_ERROR_ILLEGAL_STATE;
    let StreamRef::Other(stream) = stream else { return Err(illegal) };
    let captured = stream.capture().ok_or(illegal)?.end(&stream);
    out.set(handle(captured.as_ref().map_or(0, |graph| graph.handle)));
    captured.map(drop)
}

pub(super) unsafe fn cuStreamIsCapturing(
    stream: CUstream,
    status: *mut CUstreamCaptureStatus,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(status) }?;
    let platform = platform()?;
    let stream = StreamRef::resolve(platform, number(stream))?;
    out.set(status_of(platform, &stream)?.0);
    Ok(())
}

pub(super) unsafe fn cuStreamGetCaptureInfo_v3(
    stream: CUstream,
    status: *mut CUstreamCaptureStatus,
    id: *mut cuuint64_t,
    graph: *mut CUgraph,
    dependencies: *mut *const CUgraphNode,
    data: *mut *const CUgraphEdgeData,
    count: *mut usize,
) -> Result {
    // SAFETY: the caller's promise, here and below. All but the status may be null.
    let status = unsafe { Out::new(status) }?;
    // SAFETY: as above.
    let (id, graph) = unsafe { (Out::new(id), Out::new(graph)) };
    // SAFETY: as above.
    let (dependencies, data) = unsafe { (Out::new(dependencies), Out::new(data)) };
    // SAFETY: as above.
    let count = unsafe { Out::new(count) };
    if data.is_ok() && dependencies.is_err() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let platform = platform()?;
    let stream = StreamRef::resolve(platform, number(stream))?;
    let (answer, capture) = status_of(platform, &stream)?;
    if let (StreamRef::Other(stream), Some(capture)) = (&stream, capture) {
        let info = capture.info(stream)?;
        if info.has_ports && dependencies.is_ok() && data.is_err() {
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

pub(super) unsafe fn cuStreamUpdateCaptureDependencies_v2(
    stream: CUstream,
    dependencies: *mut CUgraphNode,
    data: *const CUgraphEdgeData,
    count: usize,
    flags: c_uint,
) -> Result {
    let platform = platform()?;
    let stream = StreamRef::resolve(platform, number(stream))?;
    let illegal = CUresult::CUDA_ERROR_ILLEGAL_STATE;
    let StreamRef::Other(stream) = stream else { return Err(illegal) };
    let capture = stream.capture().ok_or(illegal)?;
    let replaces = match UpdateFlags(flags) {
        UpdateFlags::CU_STREAM_ADD_CAPTURE_DEPENDENCIES => false,
        UpdateFlags::CU_STREAM_SET_CAPTURE_DEPENDENCIES => true,
        _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    };
    // SAFETY: the caller's promise.
    let edges = unsafe { edges(platform, &capture.graph, dependencies, data, count) }?;
    capture.update(&stream, edges, replaces)
}

pub(super) unsafe fn cuThreadExchangeStreamCaptureMode(mode: *mut CUstreamCaptureMode) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(mode) }?;
    // SAFETY: it is not null, and the caller's promise covers reading.
    let new = Mode::new(unsafe { mode.read_unaligned() })?;
    out.set(new.exchange().number());
    Ok(())
}

/// Refuses calls that are not safe while something is being captured: those that do their work at
/// once, where a capture cannot see it (`cuThreadExchangeStreamCaptureMode`), and those that wait
/// for what does not run. To ask events is not safe either; whether one is captured goes first.
///
/// # Errors
/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`, `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`.
pub(super) fn permit(call: Call, platform: &Platform) -> Result {
    let captures = &platform.graphs.captures;
    if captures.is_empty() {
        return Ok(());
    }
    let name = call.name();
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

/// How the names of calls begin that are not safe during a capture.
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
    "cuDevicePrimaryCtxReset",
    "cuCtxEnablePeerAccess",
    "cuCtxDisablePeerAccess",
];

/// Whether a call copies or fills without a stream: it waits for the legacy default stream.
fn copies_at_once(name: &str) -> bool {
    (name.starts_with("cuMemcpy") || name.starts_with("cuMemset")) && !name.contains("Async")
}

fn status_of(
    platform: &Platform,
    stream: &StreamRef,
) -> Result<(CUstreamCaptureStatus, Option<Arc<Capture>>)> {
    if let StreamRef::Legacy(context) = stream
        && platform.graphs.captures.blocks_legacy(context.id)
    {
        return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    Ok(match stream.capture() {
        None => (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE, None),
        Some(capture) if capture.is_valid() => {
            (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE, Some(capture))
        }
        Some(_) => (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED, None),
    })
}

/// A stream that can be captured: any but the legacy default stream.
fn own(stream: StreamRef) -> Result<Arc<Stream>> {
    match stream {
        StreamRef::Other(stream) => Ok(stream),
        StreamRef::Legacy(_) => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
    }
}
