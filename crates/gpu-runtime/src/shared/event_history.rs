//! Recorded events of one stream: how far it is known to be, and what can be waited for.

use std::collections::VecDeque;

use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// A stream, as the history of its events sees it.
pub(crate) trait EventSource {
    /// An event that can be recorded and waited for.
    type Event: Clone;
    type Error;

    /// The number of pieces of work that were enqueued. What is counted is enqueued already.
    fn enqueued(&self) -> u64;

    /// The number of the point after everything enqueued so far, as somebody asks for it who wants to
    /// wait for that: where others enqueue as well, one more each time.
    fn now(&self) -> u64;

    /// Whether events can be recorded that can be waited for.
    fn records(&self) -> bool;

    /// Records an event after everything enqueued so far: a spare one if there is one, else another.
    fn record(&self, spare: Option<Self::Event>) -> Result<Self::Event, Self::Error>;

    /// Whether nobody else has the event, so that it can be recorded anew.
    fn is_spare(event: &mut Self::Event) -> bool;

    /// Whether everything before the event is done.
    fn is_complete(event: &Self::Event) -> Result<bool, Self::Error>;
}

/// With this many events on their way, every second one of the older half is given up: to wait for
/// work before it then means to wait for the next. The older a point is, the more often that happens
/// to those around it, and to the last ones never: other streams are about to wait for these.
const REMEMBERED: usize = 64;
/// Spare events beyond this many are let go.
const SPARE: usize = REMEMBERED / 2;

/// The events recorded on one stream, oldest first, and the number of the newest work that is done.
pub(crate) struct EventHistory<E> {
    completed: AtomicU64,
    /// The sequence of the newest event, readable without the lock.
    newest: AtomicU64,
    recorded: Mutex<RecordedEvents<E>>,
}

/// The events of [`EventHistory`], under its lock.
struct RecordedEvents<E> {
    events: VecDeque<RecordedEvent<E>>,
    /// Events that nobody needs any more, to be recorded anew: who makes one edge after the other
    /// then needs neither the device's pool nor the heap.
    spare: Vec<E>,
}

/// An event that comes after the first `sequence` pieces of a stream's work.
#[derive(Clone)]
pub(crate) struct RecordedEvent<E> {
    pub(crate) sequence: u64,
    pub(crate) event: E,
}

impl<E: Clone> EventHistory<E> {
    pub(crate) fn new() -> EventHistory<E> {
        EventHistory {
            completed: AtomicU64::new(0),
            newest: AtomicU64::new(0),
            recorded: Mutex::new(RecordedEvents { events: VecDeque::new(), spare: Vec::new() }),
        }
    }

    /// The number of pieces of work that are known to be done. It asks nobody.
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
    pub(crate) fn covering<L: EventSource<Event = E>>(
        &self,
        source: &L,
        sequence: u64,
    ) -> Result<Option<RecordedEvent<E>>, L::Error> {
        self.with_covering(source, sequence, |event| Ok(event.clone()))
    }

    /// The same for `f` to use, which must not come here again: the lock is held meanwhile.
    #[track_caller]
    pub(crate) fn with_covering<L: EventSource<Event = E>, R>(
        &self,
        source: &L,
        sequence: u64,
        f: impl FnOnce(&RecordedEvent<E>) -> Result<R, L::Error>,
    ) -> Result<Option<R>, L::Error> {
        let mut recorded = self.lock();
        recorded.forget::<L>(self.completed());
        if self.completed() >= sequence {
            return Ok(None);
        }
        let newest = recorded.events.back().map(|event| event.sequence);
        if newest.is_none_or(|newest| newest < sequence) {
            self.record(source, &mut recorded)?;
            return recorded.events.back().map(f).transpose();
        }
        let first = recorded.events.partition_point(|event| event.sequence < sequence);
        recorded.events.get(first).map(f).transpose()
    }

    /// Records an event if work was enqueued since the newest one.
    #[track_caller]
    pub(crate) fn mark<L: EventSource<Event = E>>(&self, source: &L) -> Result<(), L::Error> {
        let sequence = source.now();
        if self.newest.load(Ordering::Acquire) >= sequence || self.completed() >= sequence {
            return Ok(());
        }
        let mut recorded = self.lock();
        self.record(source, &mut recorded)
    }

    /// Asks the driver how far the stream is, and records an event if none is on its way.
    #[track_caller]
    pub(crate) fn poll<L: EventSource<Event = E>>(&self, source: &L) -> u64 {
        if self.completed() >= source.enqueued() {
            return self.completed();
        }
        let mut recorded = self.lock();
        while let Some(oldest) = recorded.events.front() {
            match L::is_complete(&oldest.event) {
                Ok(true) => self.reached(oldest.sequence),
                // A lost device completes nothing any more; the next call on it says so.
                Ok(false) | Err(_) => break,
            }
            recorded.events.pop_front();
        }
        let is_missing = recorded.events.is_empty() && self.completed() < source.enqueued();
        if is_missing && source.records() {
            let _ = self.record(source, &mut recorded);
        }
        self.completed()
    }

    /// Records an event now, which becomes the newest in the history.
    #[track_caller]
    fn record<L: EventSource<Event = E>>(
        &self,
        source: &L,
        recorded: &mut RecordedEvents<E>,
    ) -> Result<(), L::Error> {
        if recorded.events.len() == REMEMBERED {
            recorded.thin_out::<L>();
        }
        // Read before the record: what is counted by now is on the stream by now.
        let sequence = source.enqueued();
        let event = source.record(recorded.spare.pop())?;
        recorded.events.push_back(RecordedEvent { sequence, event });
        // Nobody else writes it: the lock is held.
        self.newest.store(sequence, Ordering::Release);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, RecordedEvents<E>> {
        self.recorded.lock()
    }
}

impl<E> RecordedEvents<E> {
    /// Drops the events that are known to be past, without asking the driver.
    fn forget<L: EventSource<Event = E>>(&mut self, completed: u64) {
        let past = self.events.partition_point(|event| event.sequence <= completed);
        for RecordedEvent { event, .. } in self.events.drain(..past) {
            spare::<L>(&mut self.spare, event);
        }
    }

    /// Gives up every second event of the older half.
    fn thin_out<L: EventSource<Event = E>>(&mut self) {
        let older = self.events.len() / 2;
        for RecordedEvent { event, .. } in thin_out(&mut self.events, older) {
            spare::<L>(&mut self.spare, event);
        }
    }
}

/// Removes every second one of the first `older`, but, of an even number, never the last.
fn thin_out<T>(recorded: &mut VecDeque<T>, older: usize) -> impl Iterator<Item = T> + '_ {
    let kept = older / 2;
    (0..kept).for_each(|index| recorded.swap(index, 2 * index + 1));
    recorded.drain(kept..older)
}

/// Keeps an event for reuse, unless somebody has it or there are enough.
fn spare<L: EventSource>(spare: &mut Vec<L::Event>, mut event: L::Event) {
    if spare.len() < SPARE && L::is_spare(&mut event) {
        spare.push(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_out_keeps_the_newest_and_half_of_the_others() {
        let mut recorded: VecDeque<_> = (1..=8).collect();
        let mut given_up: Vec<_> = thin_out(&mut recorded, 4).collect();
        given_up.sort_unstable();
        assert_eq!(given_up, [1, 3]);
        assert_eq!(recorded, [2, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn the_last_points_keep_their_events_however_many_are_on_their_way() {
        let (mut recorded, last) = (VecDeque::new(), REMEMBERED / 2);
        for sequence in 1..=1000 {
            if recorded.len() == REMEMBERED {
                drop(thin_out(&mut recorded, REMEMBERED / 2));
            }
            recorded.push_back(sequence);
            let points = (1..=sequence).rev().take(last);
            assert!(recorded.iter().rev().copied().take(last).eq(points), "{recorded:?}");
        }
    }
}
