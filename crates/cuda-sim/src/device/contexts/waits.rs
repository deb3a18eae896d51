//! What all work of a context was told to wait for. A stream learns of it when it is next used, so
//! that no list of streams is needed: threads have streams of their own.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::queue::{self, QueuePoint};
use crate::time;

/// Points that work of a context comes after, if it is enqueued later than they were added.
#[derive(Debug, Default)]
pub(crate) struct ContextWaits {
    /// The number of the last one.
    newest: AtomicU64,
    points: Mutex<Vec<(u64, QueuePoint)>>,
}

/// The number of the last point that a stream waits for already.
#[derive(Debug, Default)]
pub(in crate::device) struct WaitsSeen(AtomicU64);

impl ContextWaits {
    /// All later work waits for a point.
    pub(crate) fn add(&self, point: QueuePoint) {
        let mut points = self.points.lock();
        if !cuda_check::is_on() && !time::is_virtual() {
            // Nobody asks later what came before what.
            points.retain(|(_, known)| !known.is_complete());
        }
        let number = self.newest.load(Ordering::Relaxed) + 1;
        points.push((number, point));
        self.newest.store(number, Ordering::Release);
    }

    /// Has a stream wait for what was added since it was last used.
    pub(in crate::device) fn hold_back(&self, stream: &queue::Stream, heeded: &WaitsSeen) {
        if heeded.0.load(Ordering::Acquire) == self.newest.load(Ordering::Acquire) {
            return;
        }
        let points = self.points.lock();
        let before = heeded.0.load(Ordering::Acquire);
        points.iter().filter(|(number, _)| *number > before).for_each(|(_, p)| stream.wait_for(p));
        // Only now: another thread that uses the stream must find the waits in it.
        heeded.0.store(self.newest.load(Ordering::Acquire), Ordering::Release);
    }
}
