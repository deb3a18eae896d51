//! What streams tell checked mode of their operations.

use std::ops::Range;
use std::sync::Arc;

use super::failure::Failure;
use super::health::Health;
use super::job::Job;
use super::kind::StreamKind;
use super::point::{QueuePoint, StreamProgress};
use super::work::StreamWork;
use crate::time::Demand;
use cuda_check::{CheckedOperation, Label, StreamClock};

/// Gives a new stream a clock, if checks are on.
pub(super) fn open(
    stream: &StreamProgress,
    health: &Health,
    owner: u64,
    kind: StreamKind<&Arc<StreamProgress>>,
) {
    if !cuda_check::is_on() {
        return;
    }
    let device = health.ordinal();
    let clock = match kind {
        StreamKind::Legacy => StreamClock::legacy(device, owner),
        StreamKind::NonBlocking => StreamClock::non_blocking(device, owner),
        StreamKind::Blocking(legacy) => match legacy.clock.get() {
            Some(legacy) => StreamClock::blocking(device, owner, legacy),
            None => StreamClock::non_blocking(device, owner),
        },
    };
    let _ = stream.clock.set(clock);
}

/// Enqueues work that comes after some points, by `enqueue`, and tells checks if they are on.
pub(super) fn enqueue(
    stream: &StreamProgress,
    after: &[QueuePoint],
    work: StreamWork,
    enqueue: impl FnOnce(StreamWork) -> QueuePoint,
) -> QueuePoint {
    let Some(clock) = stream.clock.get() else { return enqueue(work) };
    after.iter().for_each(|point| stream.comes_after(point));
    let (work, tail) = match work {
        StreamWork::Job(job) => {
            let (operation, tail) = clock.enqueue(job.label());
            (StreamWork::Job(Arc::new(CheckedJob { operation, job })), tail)
        }
        StreamWork::Host(function) => {
            let (order, tail) = clock.enqueue_host_function();
            (StreamWork::Host(Box::new(move || order.run(function))), tail)
        }
        StreamWork::Callback(function) => {
            let (order, tail) = clock.enqueue_host_function();
            (StreamWork::Callback(Box::new(move || order.run(function))), tail)
        }
        other => (other, clock.enqueue_marker()),
    };
    let point = enqueue(work);
    clock.remember(point.sequence, tail);
    point
}

/// A job that runs as an operation that checks know.
struct CheckedJob {
    operation: Arc<CheckedOperation>,
    job: Arc<dyn Job>,
}

impl Job for CheckedJob {
    fn pieces(&self) -> u64 {
        self.job.pieces()
    }

    fn is_heavy(&self) -> bool {
        self.job.is_heavy()
    }

    fn demand(&self) -> Demand {
        self.job.demand()
    }

    fn label(&self) -> Label {
        self.job.label()
    }

    fn run(&self, pieces: Range<u64>) -> Result<(), Failure> {
        self.operation.run(|| self.job.run(pieces))
    }
}
