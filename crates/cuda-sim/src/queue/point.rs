//! Points in streams, and how far streams have come.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::time::{self, StreamOrdinal, StreamPosition};
use cuda_check::StreamClock;

/// The progress of a stream. It outlives the stream, so that its points stay answerable.
#[derive(Debug)]
pub(super) struct StreamProgress {
    /// The index of the stream's queue in the scheduler, as long as work is left in it.
    pub(super) index: usize,
    /// The number of the stream, which no other ever has.
    id: StreamOrdinal,
    /// The ordinal of the stream's device.
    device: u32,
    completed: AtomicU64,
    /// The clock by which checks know the stream, if they are on.
    pub(super) clock: OnceLock<Arc<StreamClock>>,
}

impl StreamProgress {
    pub(super) fn new(index: usize, device: u32) -> Arc<StreamProgress> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (completed, clock) = (AtomicU64::new(0), OnceLock::new());
        Arc::new(StreamProgress { index, id, device, completed, clock })
    }

    /// Tells checks that what is enqueued from now on comes after a point.
    pub(super) fn comes_after(&self, point: &QueuePoint) {
        if let (Some(clock), Some(other)) = (self.clock.get(), point.progress.clock.get()) {
            clock.wait_for(other, point.sequence);
        }
    }

    /// The sequence number of the last operation that is complete.
    pub(super) fn completed(&self) -> u64 {
        self.completed.load(Ordering::Acquire)
    }

    /// Counts one more operation as complete.
    pub(super) fn advance(&self) -> u64 {
        self.completed.fetch_add(1, Ordering::AcqRel) + 1
    }
}

impl Drop for StreamProgress {
    fn drop(&mut self) {
        time::forget(self.id);
    }
}

/// A position in a stream: all its operations up to one of them.
#[derive(Debug, Clone)]
pub(crate) struct QueuePoint {
    pub(super) progress: Arc<StreamProgress>,
    pub(super) sequence: u64,
}

impl QueuePoint {
    /// Whether all work up to here is done.
    pub(crate) fn is_complete(&self) -> bool {
        self.progress.completed() >= self.sequence
    }

    /// Whether it is in a stream of the device of that ordinal.
    pub(crate) fn is_on(&self, device: u32) -> bool {
        self.progress.device == device
    }

    /// Whether it is in the same stream as another point.
    pub(crate) fn shares_stream(&self, other: &QueuePoint) -> bool {
        Arc::ptr_eq(&self.progress, &other.progress)
    }

    /// Whether another point is in the same stream, and there or later.
    pub(crate) fn precedes(&self, later: &QueuePoint) -> bool {
        self.shares_stream(later) && self.sequence <= later.sequence
    }

    /// Whether all work up to here is done by the clock that the program sees.
    pub(crate) fn is_passed(&self) -> bool {
        if time::is_virtual() { time::has_passed(self.position()) } else { self.is_complete() }
    }

    /// The position in virtual time.
    pub(super) fn position(&self) -> StreamPosition {
        StreamPosition { stream: self.progress.id, sequence: self.sequence }
    }

    /// The host knows now that the point is complete.
    pub(crate) fn host_saw(&self) {
        if let Some(clock) = self.progress.clock.get() {
            clock.host_saw(self.sequence);
        }
    }
}

/// Whether something may have to wait for a point. In virtual time what is done may yet lie in the
/// future.
pub(super) fn may_be_awaited(point: &QueuePoint) -> bool {
    !point.is_complete() || time::is_virtual()
}
