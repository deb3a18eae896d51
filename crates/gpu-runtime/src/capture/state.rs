//! The capture of one capture: its streams, its nodes, the memory that they use.

use std::any::{Any, TypeId};
use std::mem;
use std::panic::RefUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, ThreadId};

use cuda_sys::{CUresult, CUstream, Driver};
use parking_lot::{Mutex, MutexGuard};

use super::branches::{CaptureBranches, CapturedPoint};
use super::content::{CapturedMemory, GraphContent, KeptValue};
use super::driver::{self, EndedCapture, RawGraph};
use super::hooks::{After, Before, Hooks};
use crate::device::{CaptureMode, Handle, PooledEvent, capture_mode, check};
use crate::error::{CaptureProblem, Error, Result};
use crate::observe;
use crate::order_mode::{self, Order};
use crate::stream::{GraphResource, OpenCapture, Request, Stream, captures};
use crate::types::{Access, GraphNode, Work};
use crate::uses::{Birth, CapturedUses, Uses, UsesState};

/// A capture in progress.
///
/// Its lock comes after those of use records, and before nothing but the driver's calls. What is
/// dropped at its end is dropped without it.
pub(crate) struct CaptureState {
    pub(crate) id: u64,
    mode: CaptureMode,
    thread: ThreadId,
    pub(crate) origin: Stream,
    pub(crate) birth: Arc<Birth>,
    /// The driver gave it up, or may have captured what nobody knows of.
    is_broken: AtomicBool,
    state: Mutex<CaptureParts>,
}

/// The work that a capture has gathered so far, under its lock.
struct CaptureParts {
    is_over: bool,
    branches: CaptureBranches,
    /// An event before all that is captured, for streams that come to it.
    root: Option<PooledEvent>,
    nodes: Vec<GraphNode>,
    /// The driver's names of the nodes.
    handles: Vec<Handle<cuda_sys::CUgraphNode>>,
    memory: CapturedMemory,
    kept: Vec<KeptValue>,
    attached: Vec<(TypeId, KeptValue)>,
    births: Vec<Arc<Birth>>,
    hooks: Hooks,
    deferred: Vec<Box<dyn FnOnce() + Send>>,
}

// What its locks guard is whole whenever other code can run, also after a panic.
impl RefUnwindSafe for CaptureState {}

impl CaptureState {
    /// Begins a capture on a stream, in the calling thread.
    pub(crate) fn begin(origin: &Stream, mode: CaptureMode) -> Result<Arc<CaptureState>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // The driver is asked about it while it still may be.
        let root = PooledEvent::take(origin.state())?;
        let capture = Arc::new_cyclic(|own| {
            let birth = Birth::new(Weak::<CaptureState>::clone(own));
            CaptureState {
                id: NEXT.fetch_add(1, Ordering::Relaxed),
                mode,
                thread: thread::current().id(),
                origin: origin.clone(),
                state: Mutex::new(CaptureParts::new(Arc::clone(&birth))),
                birth,
                is_broken: AtomicBool::new(false),
            }
        });
        // Held while the capture begins: who finds it in the stream waits until it has.
        let mut state = capture.state();
        super::joining::enter(origin, "begin_capture", &capture)?;
        capture_mode::count_in(mode);
        let begun = driver::begin(origin, mode);
        let rooted = begun.clone().and_then(|()| driver::record(origin, &root));
        if let Err(error) = rooted {
            if begun.is_ok() {
                let _nothing_of_it_is_kept = driver::end(origin);
            }
            state.is_over = true;
            origin.capture_slot().leave();
            capture_mode::count_out(mode);
            return Err(error);
        }
        state.root = Some(root);
        state.branches.add(origin.clone());
        drop(state);
        Ok(capture)
    }

    /// The capture that a stream takes part in.
    #[inline]
    pub(crate) fn of(stream: &Stream) -> Option<Arc<CaptureState>> {
        captures::of(stream).and_then(CaptureState::from_open)
    }

    /// The capture that work goes to which this thread enqueues on a stream; see
    /// [`captures::joined`].
    #[inline]
    pub(crate) fn joined(stream: &Stream) -> Result<Option<Arc<CaptureState>>> {
        Ok(captures::joined(stream)?.and_then(CaptureState::from_open))
    }

    /// The capture that the calling thread is in.
    pub(crate) fn current() -> Option<Arc<CaptureState>> {
        captures::current().and_then(CaptureState::from_open)
    }

    /// All captures are of this type: no other one implements the trait.
    fn from_open(capture: Arc<dyn OpenCapture>) -> Option<Arc<CaptureState>> {
        let capture: Arc<dyn Any + Send + Sync> = capture;
        capture.downcast().ok()
    }

    fn as_open(self: &Arc<Self>) -> Arc<dyn OpenCapture> {
        Arc::<CaptureState>::clone(self)
    }

    /// The point after all that a stream has been given in here.
    pub(crate) fn captured_point(&self, stream: &Stream) -> Option<CapturedPoint> {
        let state = self.state();
        let branch = state.branches.find(stream)?;
        (!state.is_over).then(|| state.branches.point(branch))
    }

    /// Makes what is captured next on a stream, which is taken in if need be, come after what is
    /// awaited; false if the capture is over.
    pub(crate) fn wait_for(
        self: &Arc<Self>,
        stream: &Stream,
        point: &CapturedPoint,
    ) -> Result<bool> {
        let mut state = self.state();
        if state.is_over {
            return Ok(false);
        }
        let branch = state.branch(self, stream)?;
        state.branches.wait_for(branch, point)?;
        Ok(true)
    }

    /// Makes what is captured next on a stream come after what an access must come after.
    pub(crate) fn order_before(
        self: &Arc<Self>,
        stream: &Stream,
        record: &mut UsesState,
        (access, is_filled): (Access, bool),
        order: Order,
    ) -> Result<()> {
        let problem = |problem| Error::Capture { operation: "ordered", problem };
        if record.own().is_none() {
            return Err(problem(CaptureProblem::NotShared));
        }
        let is_empty =
            |birth: &Arc<Birth>| !birth.is_launched() && !Arc::ptr_eq(birth, &self.birth);
        if !is_filled && record.birth().is_some_and(is_empty) {
            return Err(problem(CaptureProblem::NeverLaunched));
        }
        let mut state = self.state();
        let branch = state.branch(self, stream)?;
        let uses = record.captured_by(&self.as_open());
        match order {
            Order::Automatic => uses
                .before(access)
                .try_for_each(|position| state.branches.come_after(branch, position)),
            Order::Manual => Ok(()),
        }
    }

    /// Notes a use by work that was just captured on a stream.
    pub(crate) fn mark(
        self: &Arc<Self>,
        stream: &Stream,
        record: &mut UsesState,
        access: Access,
        order: Order,
    ) {
        let mut state = self.state();
        let (Some(branch), Some(own)) = (state.branches.find(stream), record.own()) else { return };
        let is_born_here = record.birth().is_some_and(|birth| Arc::ptr_eq(birth, &self.birth));
        record.captured_by(&self.as_open()).mark(state.branches.position(branch), access, order);
        state.memory.note(&own, access, is_born_here);
    }

    /// Ends the capture. What other streams were given is joined, if order is automatic.
    pub(crate) fn end(self: &Arc<Self>) -> Result<(RawGraph, GraphContent)> {
        let mut state = self.state();
        let apart = state.branches.apart();
        let joined = match order_mode::current() {
            Order::Automatic => apart.iter().try_for_each(|&branch| {
                let position = state.branches.position(branch);
                state.branches.come_after(0, position)
            }),
            Order::Manual => Ok(()),
        };
        let ended = driver::end(&self.origin);
        let unjoined: Vec<_> = apart.iter().map(|&branch| state.branches.id(branch)).collect();
        let was_broken = self.is_broken.load(Ordering::Acquire);
        let rest = self.close(state);
        let problem = match ended? {
            // A node that nobody knows of would be work of another thread, from just when the
            // capture began.
            EndedCapture::Graph(raw)
                if !was_broken && joined.is_ok() && raw.count()? == rest.nodes.len() =>
            {
                return Ok((raw, rest.into_content()));
            }
            EndedCapture::Unjoined if !unjoined.is_empty() => {
                CaptureProblem::Unjoined { streams: unjoined }
            }
            // Also where what is not joined was enqueued by others.
            _ => CaptureProblem::Broken,
        };
        match joined {
            Err(error) if !driver::is_broken(&error) => Err(error),
            _ => Err(Error::Capture { operation: "end", problem }),
        }
    }

    /// Ends the capture, and makes no graph of it.
    pub(crate) fn abandon(&self) {
        let state = self.state();
        if state.is_over {
            return;
        }
        // An error says that it was broken already; it is over either way.
        let graph = driver::end(&self.origin);
        let rest = self.close(state);
        drop((graph, rest));
    }

    /// Lets go of the streams, and returns what the graph is made of. What waited for the end is
    /// done.
    fn close(&self, mut state: MutexGuard<'_, CaptureParts>) -> CaptureParts {
        let nothing = CaptureParts { is_over: true, ..CaptureParts::new(Arc::clone(&self.birth)) };
        let mut rest = mem::replace(&mut *state, nothing);
        rest.branches.streams().for_each(|stream| stream.capture_slot().leave());
        capture_mode::count_out(self.mode);
        drop(state);
        mem::take(&mut rest.deferred).into_iter().for_each(|deferred| deferred());
        rest
    }

    /// The uses that memory begins with which was just allocated for captured work: none, or one by
    /// the stream that may have used it before.
    pub(crate) fn uses_of_new(
        self: &Arc<Self>,
        stream: &Stream,
        is_recycled: bool,
    ) -> CapturedUses {
        let mut uses = CapturedUses::new(&self.as_open());
        let state = self.state();
        if let (true, Some(branch)) = (is_recycled, state.branches.find(stream)) {
            uses.mark(state.branches.position(branch), Access::Write, Order::Automatic);
        }
        uses
    }

    /// Keeps a value for the graph, the only one of its type. False if there is one.
    pub(crate) fn attach(&self, id: TypeId, value: KeptValue) -> bool {
        let mut state = self.state();
        let is_new = state.attached.iter().all(|(other, _)| *other != id);
        if is_new {
            state.attached.push((id, value));
        }
        is_new
    }

    pub(crate) fn attached(&self, id: TypeId) -> Option<KeptValue> {
        let state = self.state();
        let found = state.attached.iter().find(|(other, _)| *other == id);
        found.map(|(_, value)| Arc::clone(value))
    }

    /// Notes memory that launches write, without a node that is known to.
    pub(crate) fn note_write(&self, record: &Arc<Uses>) {
        self.state().memory.note(record, Access::Write, false);
    }

    /// Takes over what a graph brings that was launched in here.
    pub(crate) fn adopt(&self, births: &[Arc<Birth>], after: &[After]) {
        let mut state = self.state();
        state.births.extend_from_slice(births);
        state.hooks.after.extend_from_slice(after);
    }

    /// Has something enqueued before each launch of the graph.
    pub(crate) fn before_each_launch(&self, before: Before) {
        self.state().hooks.before.push(before);
    }

    /// Has something done after each launch of the graph.
    pub(crate) fn after_each_launch(&self, after: After) {
        self.state().hooks.after.push(after);
    }

    fn state(&self) -> MutexGuard<'_, CaptureParts> {
        self.state.lock()
    }
}

impl OpenCapture for CaptureState {
    fn is_open(&self) -> bool {
        !self.state().is_over
    }

    fn mode_in_this_thread(&self) -> Option<CaptureMode> {
        (self.thread == thread::current().id()).then_some(self.mode)
    }

    fn take_in(self: Arc<Self>, stream: &Stream) -> Result<bool> {
        let mut state = self.state();
        if state.is_over {
            return Ok(false);
        }
        state.branch(&self, stream).map(|_| true)
    }

    fn enqueue(
        self: Arc<Self>,
        stream: &Stream,
        request: &Request<'_>,
        issue: &mut dyn FnMut(&Driver, CUstream) -> CUresult,
    ) -> Result<()> {
        if *request.work == Work::Callback {
            let problem = CaptureProblem::Once { hint: "" };
            return Err(Error::Capture { operation: "add_callback", problem });
        }
        let mut state = self.state();
        let branch = state.branch(&self, stream)?;
        let driver = stream.state();
        driver.bind()?;
        let result = issue(driver.driver, stream.raw());
        check::on_stream(driver, stream.id(), request.call, result)?;
        let Some(node) = driver::newest_node(stream)? else {
            self.give_up();
            return Err(broken(request.call));
        };
        state.branches.push(branch, node);
        state.handles.push(node);
        state.nodes.push(GraphNode {
            work: request.work.clone(),
            stream: stream.id(),
            place: observe::place(request.place),
            accesses: observe::accesses(request).to_vec().into(),
        });
        state.kept.extend(request.keeps.map(GraphResource::to_keep));
        Ok(())
    }

    fn branch_of(&self, stream: &Stream) -> Option<usize> {
        self.state().branches.find(stream)
    }

    fn defer(&self, what: Box<dyn FnOnce() + Send>) {
        let mut state = self.state();
        if state.is_over {
            drop(state);
            return what();
        }
        state.deferred.push(what);
    }

    fn give_up(&self) {
        self.is_broken.store(true, Ordering::Release);
    }
}

impl CaptureParts {
    fn new(birth: Arc<Birth>) -> CaptureParts {
        CaptureParts {
            is_over: false,
            branches: CaptureBranches::default(),
            root: None,
            nodes: Vec::new(),
            handles: Vec::new(),
            memory: CapturedMemory::default(),
            kept: Vec::new(),
            attached: Vec::new(),
            births: vec![birth],
            hooks: Hooks::default(),
            deferred: Vec::new(),
        }
    }

    /// The branch of a stream, which is taken in if need be.
    fn branch(&mut self, capture: &Arc<CaptureState>, stream: &Stream) -> Result<usize> {
        if self.is_over || capture.is_broken.load(Ordering::Acquire) {
            return Err(broken("capture"));
        }
        if let Some(branch) = self.branches.find(stream) {
            return Ok(branch);
        }
        super::joining::enter(stream, "wait_stream", capture)?;
        let root = self.root.as_ref().expect("it is there as long as the capture is open");
        if let Err(error) = driver::wait(stream, root) {
            stream.capture_slot().leave();
            return Err(error);
        }
        Ok(self.branches.add(stream.clone()))
    }

    fn into_content(self) -> GraphContent {
        let CaptureParts { nodes, handles, memory, mut kept, attached, births, hooks, .. } = self;
        kept.extend(attached.into_iter().map(|(_, value)| value));
        GraphContent::new(nodes, handles, memory, kept, births, hooks)
    }
}

fn broken(operation: &'static str) -> Error {
    Error::Capture { operation, problem: CaptureProblem::Broken }
}
