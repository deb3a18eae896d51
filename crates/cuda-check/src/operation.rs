//! Operations of streams, as races are between them: what they are, where they were enqueued, and
//! which one the calling thread runs.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use ptx::LineMap;

use super::api_call::ApiCall;
use super::flags::Flags;
use super::record::ID_BITS;
use super::silent::LastWrites;
use super::streams::{self, EnqueueOrder, StreamClock};
use super::vector_clock::VectorClock;

/// A launch, a copy or a fill that was enqueued.
pub struct CheckedOperation {
    /// Operations are numbered in the order in which they are enqueued.
    pub(crate) id: u64,
    pub(crate) stream: Arc<StreamClock>,
    /// The place among the operations of the stream.
    pub(crate) sequence: u64,
    /// The time when it was enqueued, on the clock of what the host learns.
    pub(crate) time: u64,
    /// The time when the last host function before it in its stream ended.
    pub(crate) after_host: Option<Arc<AtomicU64>>,
    /// The operations that come before it.
    pub(crate) clock: Arc<VectorClock>,
    pub(crate) label: Label,
    pub(crate) call: ApiCall,
    /// The flags by which its threads order themselves.
    pub(crate) flags: Flags,
    /// The plain writes that its threads are about to make.
    pub(crate) last_writes: LastWrites,
}

/// The kind of an operation, with what reports say of it.
#[derive(Clone)]
pub enum Label {
    /// A launch of a kernel.
    Launch {
        /// The kernel's name.
        kernel: Arc<str>,
        /// Blocks per axis.
        grid: [u32; 3],
        /// Threads of a block per axis.
        block: [u32; 3],
        /// The source lines of its instructions.
        lines: Arc<LineMap>,
    },
    /// A copy.
    Copy,
    /// A fill.
    Fill,
    /// Memory is allocated in the stream's order.
    Allocation,
    /// Memory is freed in the stream's order.
    Free,
    /// Anything else.
    Other,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Launch { kernel, .. } => write!(f, "launch of `{kernel}`"),
            Label::Copy => f.write_str("copy"),
            Label::Fill => f.write_str("fill"),
            Label::Allocation => f.write_str("allocation"),
            Label::Free => f.write_str("free"),
            Label::Other => f.write_str("operation"),
        }
    }
}

/// The last operations, by their numbers.
struct RecentOperations {
    first: u64,
    operations: VecDeque<Arc<CheckedOperation>>,
}

/// The number of operations that are remembered. What is older counts as done: who runs so far ahead of the
/// host's waits is not caught.
const MAX_REMEMBERED: usize = 1 << 15;

static RECENT: Mutex<RecentOperations> =
    Mutex::new(RecentOperations { first: 1, operations: VecDeque::new() });

thread_local! {
    static CURRENT: RefCell<Option<Arc<CheckedOperation>>> = const { RefCell::new(None) };
}

impl StreamClock {
    /// A launch, a copy or a fill is enqueued, which is to be run by [`CheckedOperation::run`]. What
    /// is returned besides is to be handed to [`remember`](StreamClock::remember).
    pub fn enqueue(
        self: &Arc<StreamClock>,
        label: Label,
    ) -> (Arc<CheckedOperation>, Arc<VectorClock>) {
        let EnqueueOrder { sequence, time, after_host, before, after } = self.advance(None);
        let mut recent = RECENT.lock();
        let operation = Arc::new(CheckedOperation {
            id: recent.first + recent.operations.len() as u64,
            stream: Arc::clone(self),
            sequence,
            time,
            after_host,
            clock: before,
            label,
            call: ApiCall::here(),
            flags: Flags::default(),
            last_writes: LastWrites::default(),
        });
        recent.operations.push_back(Arc::clone(&operation));
        if recent.operations.len() > MAX_REMEMBERED {
            recent.operations.pop_front();
            recent.first += 1;
        }
        (operation, after)
    }

    /// A function of the program is enqueued. What is returned besides is to be handed to
    /// [`remember`](StreamClock::remember).
    pub fn enqueue_host_function(&self) -> (HostFunctionOrder, Arc<VectorClock>) {
        let ended = Arc::new(AtomicU64::new(0));
        let EnqueueOrder { before, after, .. } = self.advance(Some(&ended));
        (HostFunctionOrder { before, ended }, after)
    }
}

/// The place of a host function in the order of operations.
pub struct HostFunctionOrder {
    before: Arc<VectorClock>,
    ended: Arc<AtomicU64>,
}

impl HostFunctionOrder {
    /// Calls the function. The program's own code runs there: it may pass on what it knows.
    pub fn run(&self, function: impl FnOnce()) {
        streams::see(&self.before);
        function();
        self.ended.store(streams::now(), Ordering::Release);
    }
}

/// The operation whose number ends with those bits, if it is remembered.
pub(crate) fn by_bits(bits: u32) -> Option<Arc<CheckedOperation>> {
    let recent = RECENT.lock();
    let mask = (1 << ID_BITS) - 1;
    let distance = u64::from(bits).wrapping_sub(recent.first) & mask;
    recent.operations.get(distance as usize).cloned()
}

/// The operation that the calling thread runs.
pub(crate) fn current() -> Option<Arc<CheckedOperation>> {
    CURRENT.with_borrow(Clone::clone)
}

impl CheckedOperation {
    /// The number as memory remembers it.
    pub(crate) fn bits(&self) -> u32 {
        (self.id & ((1 << ID_BITS) - 1)) as u32
    }

    /// Runs some of it on the calling thread.
    pub fn run<R>(self: &Arc<CheckedOperation>, run: impl FnOnce() -> R) -> R {
        let outer = CURRENT.replace(Some(Arc::clone(self)));
        let result = run();
        CURRENT.set(outer);
        result
    }

    /// Whether the operation with these bits is done before this one begins.
    pub(crate) fn is_after(&self, bits: u32) -> bool {
        bits == self.bits() || by_bits(bits).is_none_or(|other| happens_before(&other, self))
    }
}

/// Whether one operation is done before the other begins, in every order that the streams' rules
/// allow.
fn happens_before(first: &CheckedOperation, second: &CheckedOperation) -> bool {
    if first.stream.id == second.stream.id || second.clock.of(first.stream.id) >= first.sequence {
        return true;
    }
    let after_host = second.after_host.as_ref().map_or(0, |ended| ended.load(Ordering::Acquire));
    first.stream.was_seen(first.sequence, second.time.max(after_host))
}
