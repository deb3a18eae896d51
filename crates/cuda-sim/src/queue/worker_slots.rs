//! Slots for threads that run pieces of jobs: how many are taken, and what the workers do that have
//! none.

use std::sync::Arc;

use super::running::Running;

/// The slots, and the workers that have none.
///
/// A worker without a slot is looking for work or asleep. Who has been called counts as asleep until
/// it wakes, so that nobody is called twice.
#[derive(Debug, Default)]
pub(super) struct WorkerSlots {
    total: usize,
    taken: usize,
    /// Workers that are awake and about to look at the line.
    looking: usize,
    /// Workers that sleep, and those among them that were called.
    asleep: usize,
    called: usize,
}

/// The result of a thread's taking part in a job.
pub(super) struct JobShare {
    pub(super) running: Arc<Running>,
    /// Whether it did the last of it.
    pub(super) ended: bool,
    /// Whether it left something undone, because others want the slot.
    pub(super) gives_way: bool,
}

/// Why a host thread wakes that waits for a point.
pub(super) enum Wake {
    /// The point is complete.
    Complete,
    /// There is a slot for it, and a job on the way to the point.
    Slot(Arc<Running>),
}

/// The next step of a host thread that waits for a point.
pub(super) enum Wait {
    /// The point is complete.
    Over,
    /// It has a slot to run this job in.
    Acquired(Arc<Running>),
    /// It sleeps until it is woken.
    Asleep,
}

impl WorkerSlots {
    pub(super) fn new(total: usize) -> WorkerSlots {
        WorkerSlots { total, ..WorkerSlots::default() }
    }

    pub(super) fn free(&self) -> usize {
        self.total - self.taken
    }

    /// A thread takes a slot that is free.
    pub(super) fn take(&mut self) {
        self.taken += 1;
    }

    /// A thread gives its slot back.
    pub(super) fn release(&mut self) {
        self.taken -= 1;
    }

    /// The number of workers that are about to look at the line.
    pub(super) fn looking(&self) -> usize {
        self.looking
    }

    /// The number of workers on their way to the line, woken or being woken.
    pub(super) fn coming(&self) -> usize {
        self.looking + self.called
    }

    /// Counts one more worker that is about to look at the line.
    pub(super) fn begin_to_look(&mut self) {
        self.looking += 1;
    }

    /// A worker has looked at the line, or was to start and did not.
    pub(super) fn stop_looking(&mut self) {
        self.looking -= 1;
    }

    /// A worker falls asleep.
    pub(super) fn fall_asleep(&mut self) {
        self.asleep += 1;
    }

    /// Calls a worker that sleeps. False if none does that was not called already.
    pub(super) fn call(&mut self) -> bool {
        let is_asleep = self.asleep > self.called;
        self.called += usize::from(is_asleep);
        is_asleep
    }

    /// A sleeping worker that was called wakes. False if none was.
    pub(super) fn answer_call(&mut self) -> bool {
        if self.called == 0 {
            return false;
        }
        self.called -= 1;
        self.asleep -= 1;
        self.looking += 1;
        true
    }
}

#[cfg(test)]
impl WorkerSlots {
    pub(super) fn total(&self) -> usize {
        self.total
    }

    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    pub(super) fn has_called(&self) -> bool {
        self.called > 0
    }
}
