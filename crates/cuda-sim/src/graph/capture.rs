//! Captures: what is enqueued in some streams becomes a graph instead of running.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, ThreadId};

use cuda_sys::CUresult;
use parking_lot::{Mutex, MutexGuard};

use super::body::GraphTemplate;
use super::captures::{Captures, StreamCaptureMode};
use super::edges::{GraphEdge, NodeId, Ports};
use super::operation::NodeOperation;
use super::order::with_ancestors;
use super::table::GraphTable;
use crate::device::{CapturedEvent, Stream, StreamCapture, StreamOperation, StreamRef};

/// One capture, from `cuStreamBeginCapture` to `cuStreamEndCapture`: in the stream where it began,
/// and in those that came to it by waiting for its events.
pub(crate) struct CaptureSequence {
    /// A number that no other capture of the process has.
    pub(crate) id: u64,
    pub(crate) graph: Arc<GraphTemplate>,
    captures: &'static Captures,
    /// The graph was made for the capture, and goes with it if it fails.
    owns_graph: bool,
    pub(super) mode: StreamCaptureMode,
    pub(super) thread: ThreadId,
    state: Mutex<CaptureProgress>,
}

/// The nodes that an event was recorded after, in a stream that was being captured.
#[derive(Debug)]
struct EventInCapture {
    capture: Weak<CaptureSequence>,
    after: Vec<GraphEdge>,
}

/// A stream's part in a capture, as `cuStreamGetCaptureInfo` tells it.
pub(crate) struct Info {
    pub(crate) dependencies: *const u64,
    pub(crate) ports: *const [u8; 8],
    pub(crate) count: usize,
    pub(crate) has_ports: bool,
}

#[derive(Default)]
struct CaptureProgress {
    stage: Stage,
    /// The first one is where the capture began.
    branches: Vec<Branch>,
    /// Nodes that the program took out of what its streams depend on
    /// (`cuStreamUpdateCaptureDependencies`): nothing has to wait for them at the end.
    excused: BTreeSet<NodeId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Valid,
    Invalid,
    Ended,
}

/// A stream that is being captured.
struct Branch {
    id: u64,
    stream: Weak<Stream>,
    context: u64,
    is_blocking: bool,
    /// The nodes that the next operation depends on.
    dependencies: Vec<GraphEdge>,
    /// The copy of them that the program was given pointers to. It stays where it is until the next
    /// call.
    shown: (Box<[u64]>, Box<[[u8; 8]]>),
}

impl CaptureSequence {
    /// Begins a capture in a stream: into a graph of its own, or into one of the program's after
    /// some of its nodes.
    ///
    /// # Errors
    /// `CUDA_ERROR_ILLEGAL_STATE` if the stream is being captured already.
    pub(crate) fn begin(
        table: &'static GraphTable,
        captures: &'static Captures,
        stream: &Arc<Stream>,
        mode: StreamCaptureMode,
        into: Option<(Arc<GraphTemplate>, Vec<GraphEdge>)>,
    ) -> Result<(), CUresult> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let mut slot = stream.capture_slot();
        if slot.is_some() {
            return Err(CUresult::CUDA_ERROR_ILLEGAL_STATE);
        }
        let owns_graph = into.is_none();
        let (graph, dependencies) = match into {
            Some(into) => into,
            None => (GraphTemplate::new(table)?, Vec::new()),
        };
        graph.begin_capture();
        let branches = vec![Branch::new(stream, dependencies)];
        let capture = Arc::new(CaptureSequence {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            graph,
            captures,
            owns_graph,
            mode,
            thread: thread::current().id(),
            state: Mutex::new(CaptureProgress { branches, ..CaptureProgress::default() }),
        });
        captures.add(&capture);
        *slot = Some(capture);
        Ok(())
    }

    /// The capture that a stream takes part in.
    pub(crate) fn of(stream: &Stream) -> Option<Arc<CaptureSequence>> {
        let capture: Arc<dyn Any + Send + Sync> = stream.capture()?;
        capture.downcast().ok()
    }

    /// Adds an operation to the capture that a stream takes part in. False if there is none: the
    /// operation is to run.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`, and those of [`GraphTemplate::add`].
    pub(crate) fn take_in(
        stream: &StreamRef,
        operation: impl FnOnce() -> NodeOperation,
    ) -> Result<bool, CUresult> {
        let StreamRef::Other(stream) = stream else { return Ok(false) };
        match CaptureSequence::of(stream) {
            Some(capture) => capture.add_node(stream, operation()).map(|_| true),
            None => Ok(false),
        }
    }

    /// Adds what is enqueued in a stream to the graph.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`, and those of [`GraphTemplate::add`].
    pub(super) fn add_node(
        &self,
        stream: &Stream,
        operation: NodeOperation,
    ) -> Result<NodeId, CUresult> {
        let mut state = self.valid()?;
        let branch = state.branch(stream.id)?;
        let node = self.graph.add(operation, branch.dependencies.clone())?;
        branch.dependencies = vec![GraphEdge { from: node, ports: Ports::default() }];
        Ok(node)
    }

    /// Ends the capture, from the stream where it began.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNMATCHED` in another stream,
    /// `CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD` on another thread,
    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`, and `CUDA_ERROR_STREAM_CAPTURE_UNJOINED` if another
    /// stream has work that the first one does not wait for. The last two end it, too.
    pub(crate) fn end(&self, stream: &Stream) -> Result<Arc<GraphTemplate>, CUresult> {
        let state = self.state();
        if state.branches.first().is_none_or(|origin| origin.id != stream.id) {
            drop(state);
            self.invalidate();
            return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
        }
        if self.mode != StreamCaptureMode::Relaxed && self.thread != thread::current().id() {
            return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
        }
        let result = match state.stage {
            Stage::Valid if self.is_joined(&state) => Ok(Arc::clone(&self.graph)),
            Stage::Valid => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED),
            _ => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
        };
        drop(state);
        self.finish(result.is_ok());
        result
    }

    /// Whether a stream of that context takes part, one that the legacy default stream waits for.
    pub(super) fn has_blocking_stream(&self, context: u64) -> bool {
        let is_one = |branch: &Branch| branch.context == context && branch.is_blocking;
        self.state().branches.iter().any(is_one)
    }

    /// Whether a stream of that context takes part.
    pub(super) fn has_stream(&self, context: u64) -> bool {
        self.state().branches.iter().any(|branch| branch.context == context)
    }

    /// The nodes that the next operation in a stream depends on. The pointers are good until the
    /// next call.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`.
    pub(crate) fn info(&self, stream: &Stream) -> Result<Info, CUresult> {
        let mut state = self.valid()?;
        let branch = state.branch(stream.id)?;
        let edges = branch.dependencies.iter();
        let handles = edges.clone().map(|edge| self.graph.handle_of(edge.from)).collect();
        let ports = edges.map(|edge| edge.ports.bytes()).collect();
        branch.shown = (handles, ports);
        Ok(Info {
            dependencies: branch.shown.0.as_ptr(),
            ports: branch.shown.1.as_ptr(),
            count: branch.dependencies.len(),
            has_ports: branch.dependencies.iter().any(|edge| edge.ports != Ports::default()),
        })
    }

    /// Changes what the next operation in a stream depends on.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`.
    pub(crate) fn update(
        &self,
        stream: &Stream,
        edges: Vec<GraphEdge>,
        replaces: bool,
    ) -> Result<(), CUresult> {
        let mut state = self.valid()?;
        let branch = state.branch(stream.id)?;
        if !replaces {
            branch.depend_on(&edges);
            return Ok(());
        }
        let dropped = std::mem::replace(&mut branch.dependencies, edges);
        state.excused.extend(dropped.into_iter().map(|edge| edge.from));
        Ok(())
    }

    /// Whether all that was captured comes before what the first stream depends on at last.
    fn is_joined(&self, state: &CaptureProgress) -> bool {
        let Some((origin, others)) = state.branches.split_first() else { return false };
        self.come_before(state, others, std::slice::from_ref(origin))
    }

    /// Whether all that was captured in a stream comes before what other streams depend on.
    fn is_awaited(&self, state: &CaptureProgress, stream: u64) -> bool {
        let (own, others): (Vec<_>, Vec<_>) =
            state.branches.iter().partition(|branch| branch.id == stream);
        self.come_before(state, own, others)
    }

    /// Whether what some streams depend on comes before what others do, or was excused.
    fn come_before<'b>(
        &self,
        state: &CaptureProgress,
        streams: impl IntoIterator<Item = &'b Branch>,
        others: impl IntoIterator<Item = &'b Branch>,
    ) -> bool {
        let nodes = self.graph.nodes();
        let ends = others.into_iter().flat_map(|branch| &branch.dependencies);
        let ends = ends.map(|edge| edge.from.0);
        let ends = ends.chain(state.excused.iter().map(|node| node.0));
        let reached = with_ancestors(ends, nodes.len(), |node| {
            let edges = nodes[node].iter().flat_map(|node| &node.dependencies);
            edges.map(|edge| edge.from.0).collect()
        });
        let last = streams.into_iter().flat_map(|branch| &branch.dependencies);
        last.into_iter().all(|edge| reached[edge.from.0])
    }

    /// Lets go of the streams, and of the graph if that is not to be had.
    fn finish(&self, succeeded: bool) {
        let mut state = self.state();
        if state.stage == Stage::Ended {
            return;
        }
        state.stage = Stage::Ended;
        let branches = std::mem::take(&mut state.branches);
        drop(state);
        self.graph.end_capture();
        self.captures.count_out();
        if self.owns_graph && !succeeded {
            self.graph.table.destroy(self.graph.handle);
        }
        for stream in branches.iter().filter_map(|branch| branch.stream.upgrade()) {
            drop(stream.capture_slot().take());
        }
    }

    /// Takes a stream in, or makes it wait for more.
    fn join(
        self: &Arc<CaptureSequence>,
        stream: &Arc<Stream>,
        edges: &[GraphEdge],
    ) -> Result<(), CUresult> {
        // The stream's lock before the capture's, as everywhere: `finish` takes the streams' locks
        // after it has let go of its own.
        let mut slot = stream.capture_slot();
        let mut state = self.valid()?;
        if slot.is_none() {
            state.branches.push(Branch::new(stream, edges.to_vec()));
            *slot = Some(Arc::clone(self) as Arc<dyn StreamCapture>);
            return Ok(());
        }
        state.branch(stream.id)?.depend_on(edges);
        Ok(())
    }

    fn valid(&self) -> Result<MutexGuard<'_, CaptureProgress>, CUresult> {
        let state = self.state();
        match state.stage {
            Stage::Valid => Ok(state),
            _ => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
        }
    }

    fn state(&self) -> MutexGuard<'_, CaptureProgress> {
        self.state.lock()
    }
}

impl StreamCapture for CaptureSequence {
    fn is_valid(&self) -> bool {
        self.state().stage == Stage::Valid
    }

    fn invalidate(&self) {
        let mut state = self.state();
        if state.stage == Stage::Valid {
            state.stage = Stage::Invalid;
        }
    }

    fn add(&self, stream: &Stream, operation: StreamOperation) -> Result<(), CUresult> {
        self.add_node(stream, operation.into()).map(drop)
    }

    fn record(
        self: Arc<CaptureSequence>,
        stream: &Stream,
    ) -> Result<Arc<dyn CapturedEvent>, CUresult> {
        let after = self.valid()?.branch(stream.id)?.dependencies.clone();
        Ok(Arc::new(EventInCapture { capture: Arc::downgrade(&self), after }))
    }

    /// A stream whose work others of the capture wait for already may go; the capture loses any other.
    fn stream_destroyed(&self, stream: u64) {
        let mut state = self.state();
        let is_origin = state.branches.first().is_some_and(|first| first.id == stream);
        if !is_origin && state.stage == Stage::Valid && self.is_awaited(&state, stream) {
            state.branches.retain(|branch| branch.id != stream);
            return;
        }
        drop(state);
        self.invalidate();
        if is_origin {
            self.finish(false);
        }
    }
}

impl CapturedEvent for EventInCapture {
    fn hold_back(&self, stream: &Arc<Stream>) -> Result<(), CUresult> {
        let over = CUresult::CUDA_ERROR_CAPTURED_EVENT;
        let capture = self.capture.upgrade().ok_or(over)?;
        if capture.state().stage == Stage::Ended {
            return Err(over);
        }
        let other = CaptureSequence::of(stream).filter(|other| !Arc::ptr_eq(other, &capture));
        if let Some(other) = other {
            other.invalidate();
            capture.invalidate();
            return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE);
        }
        capture.join(stream, &self.after)
    }

    fn invalidate(&self) {
        if let Some(capture) = self.capture.upgrade() {
            capture.invalidate();
        }
    }
}

impl CaptureProgress {
    fn branch(&mut self, id: u64) -> Result<&mut Branch, CUresult> {
        let branch = self.branches.iter_mut().find(|branch| branch.id == id);
        branch.ok_or(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
    }
}

impl Branch {
    fn new(stream: &Arc<Stream>, dependencies: Vec<GraphEdge>) -> Branch {
        Branch {
            id: stream.id,
            stream: Arc::downgrade(stream),
            context: stream.context.id,
            is_blocking: stream.is_blocking(),
            dependencies,
            shown: Default::default(),
        }
    }

    fn depend_on(&mut self, edges: &[GraphEdge]) {
        for edge in edges {
            if self.dependencies.iter().all(|known| known.from != edge.from) {
                self.dependencies.push(*edge);
            }
        }
    }
}

impl Drop for CaptureSequence {
    fn drop(&mut self) {
        self.finish(false);
    }
}

impl fmt::Debug for CaptureSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureSequence").field("id", &self.id).finish_non_exhaustive()
    }
}
