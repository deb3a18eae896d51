//! Points in streams, and how far streams have come.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Instant;

use super::state::Work;
use crate::check::StreamClock;
use crate::time::{self, LaneId, Position};

/// How far a stream has come. Outlives the stream, so that its points stay answerable.
#[derive(Debug)]
pub(super) struct Progress {
    /// The stream's place in the scheduler's books, as long as work is left in it.
    pub(super) index: usize,
    /// The number of the stream, which no other ever has.
    id: LaneId,
    completed: AtomicU64,
    /// What checks know of the stream, if they are on.
    pub(super) clock: OnceLock<Arc<StreamClock>>,
}

impl Progress {
    pub(super) fn new(index: usize) -> Arc<Progress> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Arc::new(Progress { index, id, completed: AtomicU64::new(0), clock: OnceLock::new() })
    }

    /// Has checks, if they are on, know what is enqueued after those points.
    pub(super) fn watched(
        &self,
        after: &[Point],
        work: Work,
        enqueue: impl FnOnce(Work) -> Point,
    ) -> Point {
        let Some(clock) = self.clock.get() else { return enqueue(work) };
        after.iter().for_each(|point| self.comes_after(point));
        let (work, before) = clock.enqueue(work);
        let point = enqueue(work);
        clock.remember(point.sequence, before);
        point
    }

    /// Has checks know that what is enqueued from now on comes after a point.
    pub(super) fn comes_after(&self, point: &Point) {
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

impl Drop for Progress {
    fn drop(&mut self) {
        time::forget(self.id);
    }
}

/// A position in a stream: all its operations up to one of them.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    pub(super) progress: Arc<Progress>,
    pub(super) sequence: u64,
}

impl Point {
    /// Whether all work up to here is done.
    pub(crate) fn is_complete(&self) -> bool {
        self.progress.completed() >= self.sequence
    }

    /// Whether it is in the same stream as another point.
    pub(crate) fn shares_stream(&self, other: &Point) -> bool {
        Arc::ptr_eq(&self.progress, &other.progress)
    }

    /// Whether another point is in the same stream, and there or later.
    pub(crate) fn precedes(&self, later: &Point) -> bool {
        self.shares_stream(later) && self.sequence <= later.sequence
    }

    /// Whether all work up to here is done by the clock that the program sees.
    pub(crate) fn is_passed(&self) -> bool {
        if time::is_virtual() { time::has_passed(self.position()) } else { self.is_complete() }
    }

    /// The position in virtual time.
    pub(super) fn position(&self) -> Position {
        Position { lane: self.progress.id, sequence: self.sequence }
    }

    /// The host knows now that the point is complete.
    pub(crate) fn host_saw(&self) {
        if let Some(clock) = self.progress.clock.get() {
            clock.host_saw(self.sequence);
        }
    }
}

/// The time when a stream passed a point.
#[derive(Debug, Default)]
pub(crate) struct Timestamp(AtomicU64);

impl Timestamp {
    /// Nanoseconds since the process first asked for the time; `None` until the point is passed.
    pub(crate) fn nanoseconds(&self) -> Option<u64> {
        self.0.load(Ordering::Acquire).checked_sub(1)
    }

    pub(super) fn set_now(&self) {
        static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);
        let nanoseconds = EPOCH.elapsed().as_nanos();
        self.set(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
    }

    pub(crate) fn set(&self, nanoseconds: u64) {
        self.0.store(nanoseconds.saturating_add(1), Ordering::Release);
    }
}
