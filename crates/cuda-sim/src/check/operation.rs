//! Operations of streams, as races are between them: what they are, where they were enqueued, and
//! which one the calling thread runs.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use ptx::LineMap;

use super::clock::Clock;
use super::flags::Flags;
use super::silent::LastWrites;
use super::site::Site;
use super::streams::{StreamClock, happens_before};
use crate::device::platform;
use crate::queue::{Failure, Job};
use crate::time::Demand;

/// A launch, a copy or a fill that was enqueued.
pub(crate) struct Operation {
    /// Operations are numbered in the order in which they are enqueued.
    pub(super) id: u64,
    pub(super) stream: Arc<StreamClock>,
    /// The place among the operations of the stream.
    pub(super) sequence: u64,
    /// When it was enqueued.
    pub(super) time: u64,
    /// When the last host function before it in its stream ended.
    pub(super) after_host: Option<Arc<AtomicU64>>,
    /// What comes before it.
    pub(super) clock: Arc<Clock>,
    pub(super) label: Label,
    pub(super) site: Site,
    /// The flags by which its threads order themselves.
    pub(super) flags: Flags,
    /// What its threads are about to write.
    pub(super) last_writes: LastWrites,
}

/// What an operation is.
#[derive(Clone)]
pub(crate) enum Label {
    /// A launch of a kernel.
    Launch {
        /// The kernel's name.
        kernel: Arc<str>,
        /// Blocks per axis.
        grid: [u32; 3],
        /// Threads of a block per axis.
        block: [u32; 3],
        /// Where its instructions come from.
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
struct Recent {
    first: u64,
    operations: VecDeque<Arc<Operation>>,
}

/// So many operations are remembered. What is older counts as done: who runs so far ahead of the
/// host's waits is not caught.
const REMEMBERED: usize = 1 << 15;

/// Operations are told apart by so many bits of their numbers.
pub(super) const ID_BITS: u32 = 28;

static RECENT: Mutex<Recent> = Mutex::new(Recent { first: 1, operations: VecDeque::new() });

thread_local! {
    static CURRENT: RefCell<Option<Arc<Operation>>> = const { RefCell::new(None) };
}

/// Gives an operation its number, and the job with which the thread that runs it knows it.
pub(super) fn attach(mut operation: Operation, job: Arc<dyn Job>) -> Arc<dyn Job> {
    let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    operation.id = recent.first + recent.operations.len() as u64;
    let operation = Arc::new(operation);
    recent.operations.push_back(Arc::clone(&operation));
    if recent.operations.len() > REMEMBERED {
        recent.operations.pop_front();
        recent.first += 1;
    }
    Arc::new(Attached { operation, job })
}

/// The operation whose number ends with those bits, if it is remembered.
pub(super) fn by_bits(bits: u32) -> Option<Arc<Operation>> {
    let recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    let mask = (1 << ID_BITS) - 1;
    let distance = u64::from(bits).wrapping_sub(recent.first) & mask;
    recent.operations.get(distance as usize).cloned()
}

/// The operation that the calling thread runs.
pub(crate) fn current() -> Option<Arc<Operation>> {
    CURRENT.with_borrow(Clone::clone)
}

impl Operation {
    /// The number as memory remembers it.
    pub(super) fn bits(&self) -> u32 {
        (self.id & ((1 << ID_BITS) - 1)) as u32
    }

    /// The ordinal of the device that it runs on.
    pub(super) fn device(&self) -> Option<u32> {
        let platform = platform().ok()?;
        let health = self.stream.health;
        let device = platform.devices.iter().find(|device| std::ptr::eq(&device.health, health))?;
        Some(device.id.ordinal)
    }

    /// Whether the operation with these bits is done before this one begins.
    pub(super) fn is_after(&self, bits: u32) -> bool {
        bits == self.bits() || by_bits(bits).is_none_or(|other| happens_before(&other, self))
    }
}

/// A job that knows its operation.
struct Attached {
    operation: Arc<Operation>,
    job: Arc<dyn Job>,
}

impl Job for Attached {
    fn pieces(&self) -> u64 {
        self.job.pieces()
    }

    fn is_heavy(&self) -> bool {
        self.job.is_heavy()
    }

    fn demand(&self) -> Demand {
        self.job.demand()
    }

    fn run(&self, pieces: Range<u64>) -> Result<(), Failure> {
        let outer = CURRENT.replace(Some(Arc::clone(&self.operation)));
        let result = self.job.run(pieces);
        CURRENT.set(outer);
        result
    }
}
