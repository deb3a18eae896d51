//! The handle of a stream.

use std::sync::Arc;

use super::checked;
use super::health::Health;
use super::kind::StreamKind;
use super::point::{QueuePoint, StreamProgress, may_be_awaited};
use super::scheduler::Scheduler;
use super::work::StreamWork;

/// The number of operations that may wait in a stream.
const MAX_PENDING: u64 = 1 << 16;

/// A stream: what is enqueued here runs in order. Dropping it lets its work run to the end.
///
/// No method waits for device work, but those that say so.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(super) scheduler: &'static Scheduler,
    pub(super) progress: Arc<StreamProgress>,
}

impl Stream {
    /// A new stream on the device of that health. `owner` is the number of a context, for
    /// [`Scheduler::wait_for_owner`]; greater priorities go first.
    pub(crate) fn new(
        scheduler: &'static Scheduler,
        health: &'static Health,
        owner: u64,
        kind: StreamKind<&Stream>,
        priority: usize,
    ) -> Stream {
        let kind = kind.map(|legacy| &legacy.progress);
        let progress = scheduler.open(health, owner, kind, priority);
        checked::open(&progress, health, owner, kind);
        Stream { scheduler, progress }
    }

    /// The program knows the stream by this number.
    pub(crate) fn name(&self, number: u64) {
        if let Some(clock) = self.progress.clock.get() {
            clock.name(number);
        }
    }

    /// Enqueues work. Waits if the stream is very far behind, so that a host that never waits
    /// cannot fill its memory with work.
    pub(crate) fn enqueue(&self, work: StreamWork) -> QueuePoint {
        let enqueue = |work| self.scheduler.enqueue(&self.progress, None, work);
        let point = checked::enqueue(&self.progress, &[], work, enqueue);
        if let Some(sequence) = point.sequence.checked_sub(MAX_PENDING)
            && self.progress.completed() < sequence
        {
            let progress = Arc::clone(&self.progress);
            self.scheduler.wait(&QueuePoint { progress, sequence });
        }
        point
    }

    /// Makes all work enqueued from now on wait for a point, of any stream on any device.
    pub(crate) fn wait_for(&self, point: &QueuePoint) {
        self.progress.comes_after(point);
        if may_be_awaited(point) {
            self.scheduler.enqueue(&self.progress, Some(point.clone()), StreamWork::Nothing);
        }
    }

    /// The point after all work so far, including what the stream would have to wait for on account
    /// of the legacy default stream.
    pub(crate) fn mark(&self) -> QueuePoint {
        let point = self.scheduler.mark(&self.progress);
        if let Some(clock) = self.progress.clock.get() {
            clock.mark(point.sequence);
        }
        point
    }

    /// The end of the stream, after whatever is enqueued: for comparisons only.
    pub(crate) fn end(&self) -> QueuePoint {
        QueuePoint { progress: Arc::clone(&self.progress), sequence: u64::MAX }
    }

    /// Points that what is enqueued next comes after, one for each stream that it depends on. Work
    /// that is complete is not looked into.
    pub(crate) fn awaited(&self) -> Vec<QueuePoint> {
        self.scheduler.awaited(&self.progress)
    }

    /// Whether all work so far is done.
    pub(crate) fn is_idle(&self) -> bool {
        let idle = self.scheduler.is_idle(&self.progress);
        if idle && cuda_check::is_on() {
            self.mark().host_saw();
        }
        idle
    }

    /// Waits until a point is complete.
    pub(crate) fn wait(&self, point: &QueuePoint) {
        self.scheduler.wait(point);
    }

    /// Waits until all work so far is done.
    pub(crate) fn synchronize(&self) {
        self.scheduler.wait(&self.mark());
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(clock) = self.progress.clock.get() {
            clock.close();
        }
        self.scheduler.close(&self.progress);
    }
}
