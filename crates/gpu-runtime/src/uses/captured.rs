//! The uses of a piece of memory by what is being captured.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use crate::order_mode::Order;
use crate::stream::{OpenCapture, Stream};
use crate::types::Access;

/// A point of one stream's part in a capture: after so many of its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BranchPosition {
    /// Which of the capture's streams.
    pub(crate) branch: usize,
    /// The number of nodes of that branch that come before the point.
    pub(crate) nodes: usize,
}

/// The part of a use record that belongs to one capture: the writes that no captured work is known to
/// come after, and the reads since.
#[derive(Debug)]
pub(crate) struct CapturedUses {
    capture: Weak<dyn OpenCapture>,
    /// At most one of each stream.
    writes: SmallVec<[BranchPosition; 2]>,
    reads: SmallVec<[BranchPosition; 2]>,
}

impl CapturedUses {
    pub(crate) fn new(capture: &Arc<dyn OpenCapture>) -> CapturedUses {
        let capture = Arc::downgrade(capture);
        CapturedUses { capture, writes: SmallVec::new(), reads: SmallVec::new() }
    }

    /// Whether they are of that capture.
    pub(crate) fn are_of(&self, capture: &Arc<dyn OpenCapture>) -> bool {
        ptr::addr_eq(self.capture.as_ptr(), Arc::as_ptr(capture))
    }

    /// Whether they are of a capture that is there no more.
    pub(crate) fn are_over(&self) -> bool {
        self.capture.strong_count() == 0
    }

    /// The points that an access must come after.
    pub(crate) fn before(&self, access: Access) -> impl Iterator<Item = BranchPosition> + '_ {
        let reads = if access == Access::Write { self.reads.as_slice() } else { &[] };
        self.writes.iter().chain(reads).copied()
    }

    /// All uses.
    pub(crate) fn all(&self) -> impl Iterator<Item = BranchPosition> + '_ {
        self.before(Access::Write)
    }

    /// Whether streams other than `home` have used the memory in the capture.
    pub(crate) fn are_elsewhere(&self, capture: &dyn OpenCapture, home: Option<&Stream>) -> bool {
        let home = home.and_then(|home| capture.branch_of(home));
        self.all().any(|position| Some(position.branch) != home)
    }

    /// Notes a use that ends at `at`. Under manual order a write does not come after uses on other
    /// streams, which therefore stay noted.
    pub(crate) fn mark(&mut self, at: BranchPosition, access: Access, order: Order) {
        let noted = match (access, order) {
            (Access::Read, _) => &mut self.reads,
            (Access::Write, Order::Automatic) => {
                self.reads.clear();
                self.writes.clear();
                &mut self.writes
            }
            (Access::Write, Order::Manual) => {
                self.reads.retain(|read| read.branch != at.branch);
                &mut self.writes
            }
        };
        noted.retain(|position| position.branch != at.branch);
        noted.push(at);
    }
}

/// The graph that fills a piece of memory, which holds nothing before.
#[derive(Debug)]
pub(crate) struct Birth {
    launched: AtomicBool,
    capture: Weak<dyn OpenCapture>,
}

impl Birth {
    pub(crate) fn new(capture: Weak<dyn OpenCapture>) -> Arc<Birth> {
        Arc::new(Birth { launched: AtomicBool::new(false), capture })
    }

    /// Whether the graph was launched.
    pub(crate) fn is_launched(&self) -> bool {
        self.launched.load(Ordering::Acquire)
    }

    pub(crate) fn launch(&self) {
        self.launched.store(true, Ordering::Release);
    }

    /// The capture that makes the graph, while it is in progress.
    pub(crate) fn capture(&self) -> Option<Arc<dyn OpenCapture>> {
        self.capture.upgrade().filter(|capture| capture.is_open())
    }
}
