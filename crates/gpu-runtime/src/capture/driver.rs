//! The driver's calls for captures and graphs, of which a driver may lack some.

use std::ptr::{self, null_mut};

use cuda_sys::{
    CUgraph, CUgraphExec, CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo, CUgraphNode,
    CUresult, CUstream, CUstreamCaptureStatus,
    CUstreamUpdateCaptureDependencies_flags as UpdateFlags, Driver,
};

use crate::device::{CaptureMode, DeviceState, Handle, PooledEvent, capture_mode, check, teardown};
use crate::error::{CaptureProblem, Error, Result};
use crate::stream::Stream;

/// A graph of the driver, destroyed when dropped.
pub(crate) struct RawGraph {
    pub(crate) raw: Handle<CUgraph>,
    state: &'static DeviceState,
}

/// An executable graph of the driver, destroyed when dropped.
pub(crate) struct RawExec {
    pub(crate) raw: Handle<CUgraphExec>,
    state: &'static DeviceState,
}

/// The end of a capture, as the driver reports it.
pub(super) enum EndedCapture {
    Graph(RawGraph),
    Unjoined,
    Broken,
}

/// The driver's reason for refusing an update, and the node of the new graph that it is about.
pub(crate) struct UpdateRefusal {
    pub(crate) verdict: CUgraphExecUpdateResult,
    pub(crate) node: Handle<CUgraphNode>,
}

/// Begins a capture on a stream.
pub(super) fn begin(stream: &Stream, mode: CaptureMode) -> Result<()> {
    let state = stream.state();
    state.call("cuStreamBeginCapture_v2", |driver| {
        // SAFETY: the stream lives as long as `stream`.
        let begin =
            |begin: unsafe extern "C" fn(_, _) -> _| unsafe { begin(stream.raw(), mode.number()) };
        driver.cuStreamBeginCapture_v2.map_or(CUresult::CUDA_ERROR_NOT_SUPPORTED, begin)
    })
}

/// Records an event on a stream of its device, which is being captured.
pub(super) fn record(stream: &Stream, event: &PooledEvent) -> Result<()> {
    stream.state().call("cuEventRecord", |driver| {
        // SAFETY: both live as long as the references.
        unsafe { (driver.cuEventRecord)(event.raw(), stream.raw()) }
    })
}

/// Takes a stream into the capture in which an event was recorded.
pub(super) fn wait(stream: &Stream, event: &PooledEvent) -> Result<()> {
    stream.state().call("cuStreamWaitEvent", |driver| {
        // SAFETY: both live as long as the references.
        unsafe { (driver.cuStreamWaitEvent)(stream.raw(), event.raw(), 0) }
    })
}

/// The node that was captured last on a stream, if one was.
pub(super) fn newest_node(stream: &Stream) -> Result<Option<Handle<CUgraphNode>>> {
    let state = stream.state();
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut nodes, mut count): (*const CUgraphNode, usize) = (ptr::null(), 0);
    state.call("cuStreamGetCaptureInfo_v2", |driver| {
        driver.cuStreamGetCaptureInfo_v2.map_or(CUresult::CUDA_ERROR_NOT_SUPPORTED, |ask| {
            let (none, graph) = (null_mut(), null_mut());
            // SAFETY: the stream is alive, and what is asked for is writable.
            unsafe { ask(stream.raw(), &mut status, none, graph, &mut nodes, &mut count) }
        })
    })?;
    if nodes.is_null() || count != 1 {
        return Ok(None);
    }
    // SAFETY: the driver gave an array of `count` nodes, valid until the next call for the stream,
    // which only the caller could make: it holds the capture's lock.
    Ok(Some(Handle(unsafe { *nodes })))
}

/// Makes what is captured next on a stream come after some nodes.
pub(super) fn depend(stream: &Stream, nodes: &[Handle<CUgraphNode>]) -> Result<()> {
    if nodes.is_empty() {
        return Ok(());
    }
    let mut nodes: Vec<CUgraphNode> = nodes.iter().map(|node| node.0).collect();
    stream.state().call("cuStreamUpdateCaptureDependencies", |driver| {
        let flags = UpdateFlags::CU_STREAM_ADD_CAPTURE_DEPENDENCIES.0;
        let update = driver.cuStreamUpdateCaptureDependencies;
        update.map_or(CUresult::CUDA_ERROR_NOT_SUPPORTED, |update| {
            // SAFETY: the stream is alive and captured, and the nodes are of that capture.
            unsafe { update(stream.raw(), nodes.as_mut_ptr(), nodes.len(), flags) }
        })
    })
}

/// Ends the capture that began on a stream.
pub(super) fn end(stream: &Stream) -> Result<EndedCapture> {
    let state = stream.state();
    state.bind()?;
    let mut raw: CUgraph = null_mut();
    let end = |end: unsafe extern "C" fn(_, _) -> _| {
        // SAFETY: the stream is alive, and `raw` is writable.
        unsafe { end(stream.raw(), &raw mut raw) }
    };
    let unsupported = CUresult::CUDA_ERROR_NOT_SUPPORTED;
    match state.driver.cuStreamEndCapture.map_or(unsupported, end) {
        CUresult::CUDA_SUCCESS => Ok(EndedCapture::Graph(RawGraph { raw: Handle(raw), state })),
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED => Ok(EndedCapture::Unjoined),
        CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED => Ok(EndedCapture::Broken),
        result => Err(check::on_stream(state, stream.id(), "cuStreamEndCapture", result)
            .expect_err("it is no success")),
    }
}

/// The state of a stream's capture.
pub(crate) fn status(stream: &Stream) -> Result<CUstreamCaptureStatus> {
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    stream.state().call("cuStreamIsCapturing", |driver| {
        // SAFETY: the stream is alive, and `status` is writable.
        let ask =
            |ask: unsafe extern "C" fn(_, _) -> _| unsafe { ask(stream.raw(), &raw mut status) };
        driver.cuStreamIsCapturing.map_or(CUresult::CUDA_ERROR_NOT_SUPPORTED, ask)
    })?;
    Ok(status)
}

impl RawGraph {
    pub(crate) fn instantiate(&self) -> Result<RawExec> {
        // NVIDIA's driver forbids it while anything is captured, though it does no work.
        let _allowed = capture_mode::relaxed();
        let mut raw: CUgraphExec = null_mut();
        self.state.call("cuGraphInstantiateWithFlags", |driver| {
            let instantiate = driver.cuGraphInstantiateWithFlags;
            instantiate.map_or(CUresult::CUDA_ERROR_NOT_SUPPORTED, |instantiate| {
                // SAFETY: `raw` is writable, and the graph lives as long as `self`.
                unsafe { instantiate(&mut raw, self.raw.0, 0) }
            })
        })?;
        Ok(RawExec { raw: Handle(raw), state: self.state })
    }
}

impl RawGraph {
    /// Makes the work of the graph the next node of what is captured on a stream.
    pub(crate) fn add_to_capture(&self, driver: &Driver, stream: CUstream) -> CUresult {
        let calls = (
            driver.cuStreamGetCaptureInfo_v2,
            driver.cuGraphAddChildGraphNode,
            driver.cuStreamUpdateCaptureDependencies,
        );
        let (Some(ask), Some(add), Some(update)) = calls else {
            return CUresult::CUDA_ERROR_NOT_SUPPORTED;
        };
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        let mut captured: CUgraph = null_mut();
        let (mut before, mut count): (*const CUgraphNode, usize) = (ptr::null(), 0);
        let mut node: CUgraphNode = null_mut();
        let only = UpdateFlags::CU_STREAM_SET_CAPTURE_DEPENDENCIES.0;
        // SAFETY: the caller's stream and this graph are alive, and what is asked for is writable.
        // The nodes that the first call lists stay until the last one, as the caller holds the
        // capture's lock, and the driver copies the graph.
        unsafe {
            let asked =
                ask(stream, &mut status, null_mut(), &mut captured, &mut before, &mut count);
            if asked != CUresult::CUDA_SUCCESS {
                return asked;
            }
            match add(&mut node, captured, before, count, self.raw.0) {
                CUresult::CUDA_SUCCESS => update(stream, &mut node, 1, only),
                refused => refused,
            }
        }
    }

    /// The number of nodes.
    pub(super) fn count(&self) -> Result<usize> {
        let mut count = 0;
        self.state.call("cuGraphGetNodes", |driver| {
            driver.cuGraphGetNodes.map_or(CUresult::CUDA_ERROR_NOT_SUPPORTED, |nodes| {
                // SAFETY: the graph is alive, and `count` is writable; no nodes are asked for.
                unsafe { nodes(self.raw.0, null_mut(), &raw mut count) }
            })
        })?;
        Ok(count)
    }

    /// Pairs of nodes, of which the first comes before the second.
    pub(crate) fn edges(&self) -> Result<Vec<(Handle<CUgraphNode>, Handle<CUgraphNode>)>> {
        let mut count = 0;
        let mut ask = |from: *mut CUgraphNode, to: *mut CUgraphNode| {
            self.state.call("cuGraphGetEdges", |driver| {
                let edges = driver.cuGraphGetEdges;
                edges.map_or(CUresult::CUDA_ERROR_NOT_SUPPORTED, |edges| {
                    // SAFETY: the graph is alive, and both have room for `count` nodes.
                    unsafe { edges(self.raw.0, from, to, &raw mut count) }
                })
            })?;
            Ok::<usize, Error>(count)
        };
        let count = ask(null_mut(), null_mut())?;
        if count == 0 {
            // NVIDIA's driver takes no room for nothing.
            return Ok(Vec::new());
        }
        let (mut from, mut to) = (vec![null_mut(); count], vec![null_mut(); count]);
        ask(from.as_mut_ptr(), to.as_mut_ptr())?;
        Ok(from.into_iter().map(Handle).zip(to.into_iter().map(Handle)).collect())
    }
}

impl RawExec {
    /// Takes all parameters from a graph. `Some` says why the driver does not.
    pub(crate) fn update(&self, graph: &RawGraph) -> Result<Option<UpdateRefusal>> {
        let mut info = CUgraphExecUpdateResultInfo {
            result: CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR,
            errorNode: null_mut(),
            errorFromNode: null_mut(),
        };
        self.state.bind()?;
        let update = |update: unsafe extern "C" fn(_, _, _) -> _| {
            // SAFETY: both graphs are alive, and `info` is writable.
            unsafe { update(self.raw.0, graph.raw.0, &raw mut info) }
        };
        let unsupported = CUresult::CUDA_ERROR_NOT_SUPPORTED;
        match self.state.driver.cuGraphExecUpdate_v2.map_or(unsupported, update) {
            CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE => {
                let node =
                    if info.errorFromNode.is_null() { info.errorNode } else { info.errorFromNode };
                Ok(Some(UpdateRefusal { verdict: info.result, node: Handle(node) }))
            }
            result => {
                check::on_device(self.state, "cuGraphExecUpdate_v2", result)?;
                Ok(None)
            }
        }
    }
}

impl Drop for RawGraph {
    fn drop(&mut self) {
        teardown::destroy(self.state, "cuGraphDestroy", |driver| {
            // SAFETY: the graph is destroyed here only.
            driver
                .cuGraphDestroy
                .map_or(CUresult::CUDA_SUCCESS, |destroy| unsafe { destroy(self.raw.0) })
        });
    }
}

impl Drop for RawExec {
    fn drop(&mut self) {
        teardown::destroy(self.state, "cuGraphExecDestroy", |driver| {
            // SAFETY: it is destroyed here only, and what it launched is over or goes on by itself.
            driver
                .cuGraphExecDestroy
                .map_or(CUresult::CUDA_SUCCESS, |destroy| unsafe { destroy(self.raw.0) })
        });
    }
}

/// Whether an error says that the driver gave the capture up.
pub(super) fn is_broken(error: &Error) -> bool {
    matches!(error, Error::Capture { problem: CaptureProblem::Broken, .. })
}
