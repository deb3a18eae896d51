//! The uses of a piece of memory by what is being captured.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use super::books::Books;
use crate::order::{Access, Order};

/// A point of one stream's part in a capture: after so many of its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// Which of the capture's streams.
    pub(super) lane: usize,
    /// How many nodes of that stream come before the point.
    pub(super) nodes: usize,
}

/// What a use record is to one capture: the writes that nothing captured is known to come after, and
/// the reads since.
#[derive(Debug)]
pub(crate) struct CapturedUses {
    capture: Weak<Books>,
    /// Of each stream one at most.
    writes: SmallVec<[Position; 2]>,
    reads: SmallVec<[Position; 2]>,
}

impl CapturedUses {
    pub(crate) fn new(capture: &Arc<Books>) -> CapturedUses {
        let capture = Arc::downgrade(capture);
        CapturedUses { capture, writes: SmallVec::new(), reads: SmallVec::new() }
    }

    /// Whether they are of that capture.
    pub(crate) fn are_of(&self, capture: &Arc<Books>) -> bool {
        self.capture.as_ptr() == Arc::as_ptr(capture)
    }

    /// Whether they are of a capture that is there no more.
    pub(crate) fn are_over(&self) -> bool {
        self.capture.strong_count() == 0
    }

    /// What an access must come after.
    pub(super) fn before(&self, access: Access) -> impl Iterator<Item = Position> + '_ {
        let reads = if access == Access::Write { self.reads.as_slice() } else { &[] };
        self.writes.iter().chain(reads).copied()
    }

    /// All uses.
    pub(super) fn all(&self) -> impl Iterator<Item = Position> + '_ {
        self.before(Access::Write)
    }

    /// Notes a use that ends at `at`. Under manual order a write does not come after uses on other
    /// streams, which therefore stay noted.
    pub(super) fn mark(&mut self, at: Position, access: Access, order: Order) {
        let noted = match (access, order) {
            (Access::Read, _) => &mut self.reads,
            (Access::Write, Order::Automatic) => {
                self.reads.clear();
                self.writes.clear();
                &mut self.writes
            }
            (Access::Write, Order::Manual) => {
                self.reads.retain(|read| read.lane != at.lane);
                &mut self.writes
            }
        };
        noted.retain(|position| position.lane != at.lane);
        noted.push(at);
    }
}

/// The graph that fills a piece of memory, which holds nothing before.
#[derive(Debug)]
pub(crate) struct Birth {
    launched: AtomicBool,
    capture: Weak<Books>,
}

impl Birth {
    pub(super) fn new(capture: Weak<Books>) -> Arc<Birth> {
        Arc::new(Birth { launched: AtomicBool::new(false), capture })
    }

    /// Whether the graph was launched.
    pub(crate) fn is_launched(&self) -> bool {
        self.launched.load(Ordering::Acquire)
    }

    pub(super) fn launch(&self) {
        self.launched.store(true, Ordering::Release);
    }

    /// The capture that makes the graph, while it is in progress.
    pub(crate) fn capture(&self) -> Option<Arc<Books>> {
        self.capture.upgrade().filter(|books| books.is_open())
    }
}
