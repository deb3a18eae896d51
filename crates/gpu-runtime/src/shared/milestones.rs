//! Recorded events of one stream: how far it is known to be, and what can be waited for.

use std::collections::VecDeque;

use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering, PoisonError};

/// A stream, as its milestones see it.
pub(crate) trait Line {
    /// What is recorded, and can be waited for.
    type Event: Clone;
    type Error;

    /// How many pieces of work were enqueued. What is counted is enqueued already.
    fn enqueued(&self) -> u64;

    /// The number of the point after everything enqueued so far, as somebody asks for it who wants to
    /// wait for that: where others enqueue as well, one more each time.
    fn now(&self) -> u64;

    /// Whether events can be recorded that can be waited for.
    fn records(&self) -> bool;

    /// Records an event after everything enqueued so far.
    fn record(&self) -> Result<Self::Event, Self::Error>;

    /// Whether everything before the event is done.
    fn is_complete(event: &Self::Event) -> Result<bool, Self::Error>;
}

/// With this many events on their way, every second one is given up: to wait for work before it
/// then means to wait for the next. Old points lose precision first, since the same happens to them
/// again and again.
const REMEMBERED: usize = 64;

/// The events recorded on one stream, oldest first, and the number of the newest work that is done.
pub(crate) struct Milestones<E> {
    completed: AtomicU64,
    /// The sequence of the newest event, readable without the lock.
    newest: AtomicU64,
    recorded: Mutex<VecDeque<Milestone<E>>>,
}

/// An event that comes after the first `sequence` pieces of a stream's work.
#[derive(Clone)]
pub(crate) struct Milestone<E> {
    pub(crate) sequence: u64,
    pub(crate) event: E,
}

impl<E: Clone> Milestones<E> {
    pub(crate) fn new() -> Milestones<E> {
        Milestones {
            completed: AtomicU64::new(0),
            newest: AtomicU64::new(0),
            recorded: Mutex::new(VecDeque::new()),
        }
    }

    /// How much work is known to be done. It asks nobody.
    #[inline]
    pub(crate) fn completed(&self) -> u64 {
        self.completed.load(Ordering::Acquire)
    }

    /// Notes that the first `sequence` pieces of work are done.
    pub(crate) fn reached(&self, sequence: u64) {
        self.completed.fetch_max(sequence, Ordering::AcqRel);
    }

    /// The earliest event after the first `sequence` pieces of work, recorded now if there is none;
    /// nothing if they are known to be done.
    #[track_caller]
    pub(crate) fn covering<L: Line<Event = E>>(
        &self,
        line: &L,
        sequence: u64,
    ) -> Result<Option<Milestone<E>>, L::Error> {
        let mut recorded = self.lock();
        self.forget_completed(&mut recorded);
        if self.completed() >= sequence {
            return Ok(None);
        }
        let first = recorded.partition_point(|milestone| milestone.sequence < sequence);
        match recorded.get(first) {
            Some(milestone) => Ok(Some(milestone.clone())),
            None => Ok(Some(self.record(line, &mut recorded)?)),
        }
    }

    /// Records an event if work was enqueued since the newest one.
    #[track_caller]
    pub(crate) fn mark<L: Line<Event = E>>(&self, line: &L) -> Result<(), L::Error> {
        let sequence = line.now();
        if self.newest.load(Ordering::Acquire) >= sequence || self.completed() >= sequence {
            return Ok(());
        }
        let mut recorded = self.lock();
        self.record(line, &mut recorded).map(drop)
    }

    /// Asks the driver how far the stream is, and records an event if none is on its way.
    #[track_caller]
    pub(crate) fn poll<L: Line<Event = E>>(&self, line: &L) -> u64 {
        if self.completed() >= line.enqueued() {
            return self.completed();
        }
        let mut recorded = self.lock();
        while let Some(oldest) = recorded.front() {
            match L::is_complete(&oldest.event) {
                Ok(true) => self.reached(oldest.sequence),
                // A lost device completes nothing any more; the next call on it says so.
                Ok(false) | Err(_) => break,
            }
            recorded.pop_front();
        }
        let is_missing = recorded.is_empty() && self.completed() < line.enqueued();
        if is_missing && line.records() {
            let _ = self.record(line, &mut recorded);
        }
        self.completed()
    }

    #[track_caller]
    fn record<L: Line<Event = E>>(
        &self,
        line: &L,
        recorded: &mut VecDeque<Milestone<E>>,
    ) -> Result<Milestone<E>, L::Error> {
        if recorded.len() == REMEMBERED {
            thin_out(recorded);
        }
        // Read before the record: what is counted by now is on the stream by now.
        let sequence = line.enqueued();
        let milestone = Milestone { sequence, event: line.record()? };
        recorded.push_back(milestone.clone());
        self.newest.fetch_max(sequence, Ordering::AcqRel);
        Ok(milestone)
    }

    /// Drops the events that are known to be past, without asking the driver.
    fn forget_completed(&self, recorded: &mut VecDeque<Milestone<E>>) {
        let completed = self.completed();
        let past = recorded.partition_point(|milestone| milestone.sequence <= completed);
        recorded.drain(..past);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Milestone<E>>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes every second event, but never the newest.
fn thin_out<T>(recorded: &mut VecDeque<T>) {
    let mut index = 0;
    recorded.retain(|_| {
        index += 1;
        index % 2 == 0
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_out_keeps_the_newest_and_half_of_the_others() {
        let mut recorded: VecDeque<_> = (1..=8).collect();
        thin_out(&mut recorded);
        assert_eq!(recorded, [2, 4, 6, 8]);
    }
}
