//! Recorded events of one stream: how far it is known to be, and what can be waited for.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::enqueue::enqueue;
use crate::error::Result;
use crate::event_pool::PooledEvent;
use crate::graph;
use crate::ledger::Work;
use crate::observe::Request;
use crate::stream::Stream;

/// With this many events on their way, every second one is given up: to wait for work before it
/// then means to wait for the next. Old points lose precision first, since the same happens to them
/// again and again.
const REMEMBERED: usize = 64;

/// The events recorded on one stream, oldest first, and the number of the newest work that is done.
pub(crate) struct Milestones {
    completed: AtomicU64,
    /// The sequence of the newest event, readable without the lock.
    newest: AtomicU64,
    recorded: Mutex<VecDeque<Milestone>>,
}

/// An event that comes after the first `sequence` pieces of a stream's work.
#[derive(Clone)]
pub(crate) struct Milestone {
    pub(crate) sequence: u64,
    pub(crate) event: Arc<PooledEvent>,
}

impl Milestones {
    pub(crate) const fn new() -> Milestones {
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
    pub(crate) fn covering(&self, stream: &Stream, sequence: u64) -> Result<Option<Milestone>> {
        let mut recorded = self.lock();
        self.forget_completed(&mut recorded);
        if self.completed() >= sequence {
            return Ok(None);
        }
        let first = recorded.partition_point(|milestone| milestone.sequence < sequence);
        match recorded.get(first) {
            Some(milestone) => Ok(Some(milestone.clone())),
            None => Ok(Some(self.record(stream, &mut recorded)?)),
        }
    }

    /// Records an event if work was enqueued since the newest one.
    #[track_caller]
    pub(crate) fn mark(&self, stream: &Stream) -> Result<()> {
        let sequence = stream.now();
        if self.newest.load(Ordering::Acquire) >= sequence || self.completed() >= sequence {
            return Ok(());
        }
        let mut recorded = self.lock();
        self.record(stream, &mut recorded).map(drop)
    }

    /// Asks the driver how far the stream is, and records an event if none is on its way.
    #[track_caller]
    pub(crate) fn poll(&self, stream: &Stream) -> u64 {
        if self.completed() >= stream.sequence() {
            return self.completed();
        }
        let mut recorded = self.lock();
        while let Some(oldest) = recorded.front() {
            match oldest.event.is_complete() {
                Ok(true) => self.reached(oldest.sequence),
                // A lost device completes nothing any more; the next call on it says so.
                Ok(false) | Err(_) => break,
            }
            recorded.pop_front();
        }
        let is_missing = recorded.is_empty() && self.completed() < stream.sequence();
        if is_missing && graph::of(stream).is_none() {
            let _ = self.record(stream, &mut recorded);
        }
        self.completed()
    }

    #[track_caller]
    fn record(&self, stream: &Stream, recorded: &mut VecDeque<Milestone>) -> Result<Milestone> {
        if recorded.len() == REMEMBERED {
            thin_out(recorded);
        }
        let event = PooledEvent::take(stream.state())?;
        // Read before the record: what is counted by now is on the stream by now.
        let sequence = stream.sequence();
        enqueue(stream, &Request::new(&Work::Record, "cuEventRecord"), |driver, raw| {
            // SAFETY: the event was taken from the pool of the stream's device.
            unsafe { (driver.cuEventRecord)(event.raw(), raw) }
        })?;
        let milestone = Milestone { sequence, event: Arc::new(event) };
        recorded.push_back(milestone.clone());
        self.newest.fetch_max(sequence, Ordering::AcqRel);
        Ok(milestone)
    }

    /// Drops the events that are known to be past, without asking the driver.
    fn forget_completed(&self, recorded: &mut VecDeque<Milestone>) {
        let completed = self.completed();
        let past = recorded.partition_point(|milestone| milestone.sequence <= completed);
        recorded.drain(..past);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Milestone>> {
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
