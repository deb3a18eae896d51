//! The books of one capture: its streams, its nodes, the memory that they use.

use std::any::{Any, TypeId};
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, ThreadId};

use cuda_sys::{CUresult, CUstream, Driver};

use super::content::{Content, Graph, Memory};
use super::driver::{self, End};
use super::hooks::{After, Before, Hooks};
use super::lanes::{Awaited, Lanes};
use super::mode::{self, CaptureMode};
use super::node::GraphNode;
use super::problem::CaptureProblem;
use super::uses::{Birth, CapturedUses};
use crate::check;
use crate::error::{Error, Result};
use crate::event_pool::PooledEvent;
use crate::ledger::Work;
use crate::observe::{self, Request};
use crate::order::{self, Access, Order};
use crate::stream::Stream;
use crate::uses::{Uses, UsesState};

/// A capture in progress.
///
/// Its lock comes after those of use records, and before nothing but the driver's calls. What is
/// dropped at its end is dropped without it.
pub(crate) struct Books {
    pub(super) id: u64,
    pub(super) mode: CaptureMode,
    thread: ThreadId,
    pub(super) origin: Stream,
    pub(super) birth: Arc<Birth>,
    /// The driver gave it up, or may have captured what nobody knows of.
    is_broken: AtomicBool,
    state: Mutex<State>,
}

/// A value that a graph keeps alive.
pub(super) type Kept = Arc<dyn Any + Send + Sync>;

/// What can be kept alive by a graph in which it is used.
pub(crate) trait Keep {
    fn keep(&self) -> Arc<dyn Any + Send + Sync>;
}

struct State {
    is_over: bool,
    lanes: Lanes,
    /// An event before all that is captured, for streams that come to it.
    root: Option<PooledEvent>,
    nodes: Vec<GraphNode>,
    /// The driver's names of the nodes.
    handles: Vec<crate::handle::Handle<cuda_sys::CUgraphNode>>,
    memory: Memory,
    kept: Vec<Kept>,
    attached: Vec<(TypeId, Kept)>,
    births: Vec<Arc<Birth>>,
    hooks: Hooks,
    deferred: Vec<Box<dyn FnOnce() + Send>>,
}

impl Books {
    /// Begins a capture on a stream, in the calling thread.
    pub(super) fn begin(origin: &Stream, mode: CaptureMode) -> Result<Arc<Books>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // The driver is asked about it while it still may be.
        let root = PooledEvent::take(origin.state())?;
        let books = Arc::new_cyclic(|own| {
            let birth = Birth::new(Weak::clone(own));
            Books {
                id: NEXT.fetch_add(1, Ordering::Relaxed),
                mode,
                thread: thread::current().id(),
                origin: origin.clone(),
                state: Mutex::new(State::new(Arc::clone(&birth))),
                birth,
                is_broken: AtomicBool::new(false),
            }
        });
        // Held while the capture begins: who finds it in the stream waits until it has.
        let mut state = books.state();
        origin.enter_capture("begin_capture", &books)?;
        mode::count_in(mode);
        let begun = driver::begin(origin, mode);
        let rooted = begun.clone().and_then(|()| driver::record(origin, &root));
        if let Err(error) = rooted {
            if begun.is_ok() {
                let _nothing_of_it_is_kept = driver::end(origin);
            }
            state.is_over = true;
            origin.leave_capture();
            mode::count_out(mode);
            return Err(error);
        }
        state.root = Some(root);
        state.lanes.add(origin.clone());
        drop(state);
        Ok(books)
    }

    /// Whether it is in progress.
    pub(crate) fn is_open(&self) -> bool {
        !self.state().is_over
    }

    /// Whether the calling thread is the one in which it began.
    pub(super) fn began_here(&self) -> bool {
        self.thread == thread::current().id()
    }

    /// Takes a stream in that takes part in no capture; false if this one is over.
    pub(super) fn take_in(self: &Arc<Self>, stream: &Stream) -> Result<bool> {
        let mut state = self.state();
        if state.is_over {
            return Ok(false);
        }
        state.lane(self, stream).map(|_| true)
    }

    /// What waits for all that a stream has been given in here.
    pub(crate) fn awaited(&self, stream: &Stream) -> Option<Awaited> {
        let state = self.state();
        let lane = state.lanes.find(stream)?;
        (!state.is_over).then(|| state.lanes.awaited(lane))
    }

    /// Makes what is captured next on a stream, which is taken in if need be, come after what is
    /// awaited; false if the capture is over.
    pub(crate) fn wait_for(self: &Arc<Self>, stream: &Stream, awaited: &Awaited) -> Result<bool> {
        let mut state = self.state();
        if state.is_over {
            return Ok(false);
        }
        let lane = state.lane(self, stream)?;
        state.lanes.wait_for(lane, awaited)?;
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
        let lane = state.lane(self, stream)?;
        let uses = record.captured_by(self);
        match order {
            Order::Automatic => {
                uses.before(access).try_for_each(|position| state.lanes.come_after(lane, position))
            }
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
        let (Some(lane), Some(own)) = (state.lanes.find(stream), record.own()) else { return };
        let is_born_here = record.birth().is_some_and(|birth| Arc::ptr_eq(birth, &self.birth));
        record.captured_by(self).mark(state.lanes.position(lane), access, order);
        state.memory.note(&own, access, is_born_here);
    }

    /// Has `issue` hand work to the driver, which captures it.
    ///
    /// # Errors
    /// [`CaptureProblem::Once`] for what a graph cannot do again, and the driver's.
    pub(crate) fn enqueue(
        self: &Arc<Self>,
        stream: &Stream,
        request: &Request<'_>,
        issue: impl FnOnce(&Driver, CUstream) -> CUresult,
    ) -> Result<()> {
        if *request.work == Work::Callback {
            let problem = CaptureProblem::Once { hint: "" };
            return Err(Error::Capture { operation: "add_callback", problem });
        }
        let mut state = self.state();
        let lane = state.lane(self, stream)?;
        let driver = stream.state();
        driver.bind()?;
        let result = issue(driver.driver, stream.raw());
        check::on_stream(driver, stream.id(), request.call, result)?;
        let Some(node) = driver::newest_node(stream)? else {
            self.give_up();
            return Err(broken(request.call));
        };
        state.lanes.push(lane, node);
        state.handles.push(node);
        state.nodes.push(GraphNode {
            work: request.work.clone(),
            stream: stream.id(),
            place: observe::place(request.place),
            accesses: observe::accesses(request).to_vec().into(),
        });
        state.kept.extend(request.keeps.map(Keep::keep));
        Ok(())
    }

    /// Ends the capture. What other streams were given is joined, if order is automatic.
    pub(super) fn end(self: &Arc<Self>) -> Result<Graph> {
        let mut state = self.state();
        let apart = state.lanes.apart();
        let joined = match order::current() {
            Order::Automatic => apart.iter().try_for_each(|&lane| {
                let position = state.lanes.position(lane);
                state.lanes.come_after(0, position)
            }),
            Order::Manual => Ok(()),
        };
        let ended = driver::end(&self.origin);
        let unjoined = apart.iter().map(|&lane| state.lanes.id(lane)).collect();
        let was_broken = self.is_broken.load(Ordering::Acquire);
        let rest = self.close(state);
        let problem = match ended? {
            // A node that nobody knows of would be work of another thread, from just when the
            // capture began.
            End::Graph(raw)
                if !was_broken && joined.is_ok() && raw.count()? == rest.nodes.len() =>
            {
                return Ok(rest.graph(raw));
            }
            End::Unjoined => CaptureProblem::Unjoined { streams: unjoined },
            End::Graph(_) | End::Broken => CaptureProblem::Broken,
        };
        match joined {
            Err(error) if !driver::is_broken(&error) => Err(error),
            _ => Err(Error::Capture { operation: "end", problem }),
        }
    }

    /// Ends the capture, and makes no graph of it.
    pub(super) fn abandon(&self) {
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
    fn close(&self, mut state: MutexGuard<'_, State>) -> State {
        let nothing = State { is_over: true, ..State::new(Arc::clone(&self.birth)) };
        let mut rest = mem::replace(&mut *state, nothing);
        rest.lanes.streams().for_each(Stream::leave_capture);
        mode::count_out(self.mode);
        drop(state);
        mem::take(&mut rest.deferred).into_iter().for_each(|deferred| deferred());
        rest
    }

    /// Takes note that the driver may have captured what nobody knows of. It takes no lock: the
    /// caller may hold any.
    pub(crate) fn give_up(&self) {
        self.is_broken.store(true, Ordering::Release);
    }

    /// Does something when the capture has ended.
    pub(crate) fn defer(&self, what: impl FnOnce() + Send + 'static) {
        let mut state = self.state();
        if state.is_over {
            drop(state);
            return what();
        }
        state.deferred.push(Box::new(what));
    }

    /// Whether streams other than `home` have used memory in here.
    pub(crate) fn is_used_elsewhere(&self, uses: &CapturedUses, home: Option<&Stream>) -> bool {
        let state = self.state();
        let home = home.and_then(|home| state.lanes.find(home));
        uses.all().any(|position| Some(position.lane) != home)
    }

    /// The uses that memory begins with which was just allocated for captured work: none, or one by
    /// the stream that may have used it before.
    pub(super) fn uses_of_new(
        self: &Arc<Self>,
        stream: &Stream,
        is_recycled: bool,
    ) -> CapturedUses {
        let mut uses = CapturedUses::new(self);
        let state = self.state();
        if let (true, Some(lane)) = (is_recycled, state.lanes.find(stream)) {
            uses.mark(state.lanes.position(lane), Access::Write, Order::Automatic);
        }
        uses
    }

    /// Keeps a value for the graph, the only one of its type. False if there is one.
    pub(super) fn attach(&self, id: TypeId, value: Kept) -> bool {
        let mut state = self.state();
        let is_new = state.attached.iter().all(|(other, _)| *other != id);
        if is_new {
            state.attached.push((id, value));
        }
        is_new
    }

    pub(super) fn attached(&self, id: TypeId) -> Option<Kept> {
        let state = self.state();
        let found = state.attached.iter().find(|(other, _)| *other == id);
        found.map(|(_, value)| Arc::clone(value))
    }

    /// Notes memory that launches write, without a node that is known to.
    pub(super) fn note_write(&self, record: &Arc<Uses>) {
        self.state().memory.note(record, Access::Write, false);
    }

    /// Takes over what a graph brings that was launched in here.
    pub(super) fn adopt(&self, births: &[Arc<Birth>], after: &[After]) {
        let mut state = self.state();
        state.births.extend_from_slice(births);
        state.hooks.after.extend_from_slice(after);
    }

    /// Has something enqueued before each launch of the graph.
    pub(super) fn before_each_launch(&self, before: Before) {
        self.state().hooks.before.push(before);
    }

    /// Has something done after each launch of the graph.
    pub(super) fn after_each_launch(&self, after: After) {
        self.state().hooks.after.push(after);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn new(birth: Arc<Birth>) -> State {
        State {
            is_over: false,
            lanes: Lanes::default(),
            root: None,
            nodes: Vec::new(),
            handles: Vec::new(),
            memory: Memory::default(),
            kept: Vec::new(),
            attached: Vec::new(),
            births: vec![birth],
            hooks: Hooks::default(),
            deferred: Vec::new(),
        }
    }

    /// The lane of a stream, which is taken in if need be.
    fn lane(&mut self, books: &Arc<Books>, stream: &Stream) -> Result<usize> {
        if self.is_over || books.is_broken.load(Ordering::Acquire) {
            return Err(broken("capture"));
        }
        if let Some(lane) = self.lanes.find(stream) {
            return Ok(lane);
        }
        stream.enter_capture("wait_stream", books)?;
        let root = self.root.as_ref().expect("it is there as long as the capture is open");
        if let Err(error) = driver::wait(stream, root) {
            stream.leave_capture();
            return Err(error);
        }
        Ok(self.lanes.add(stream.clone()))
    }

    fn graph(self, raw: driver::RawGraph) -> Graph {
        let State { nodes, handles, memory, mut kept, attached, births, hooks, .. } = self;
        kept.extend(attached.into_iter().map(|(_, value)| value));
        Graph::new(raw, Content::new(nodes, handles, memory, kept, births, hooks))
    }
}

fn broken(operation: &'static str) -> Error {
    Error::Capture { operation, problem: CaptureProblem::Broken }
}
