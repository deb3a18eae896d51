//! The order of streams: the work that each one comes after, now and at each earlier point.

use std::collections::{HashMap, VecDeque};

use super::clock::VectorClock;
use crate::stream::Legacy;
use crate::types::{StreamId, WorkId};

/// The number of changes that a stream's history keeps. An older point is taken to come after as much as
/// the
/// oldest that is left: that can hide a race, and reports none that is not.
const KEPT: usize = 1024;

/// The histories of all streams that wait for others.
#[derive(Default)]
pub(super) struct Histories {
    streams: HashMap<StreamId, History>,
    /// Streams that the legacy stream waits for, or that are that stream, and how far they are.
    blocking: HashMap<StreamId, (Legacy, u64)>,
}

/// The work that one stream's work comes after besides the stream's earlier work: a clock from each
/// number
/// on at which it changed.
#[derive(Default)]
struct History {
    changes: VecDeque<(u64, VectorClock)>,
    is_shortened: bool,
}

impl Histories {
    /// Whether the next work of `stream` comes after `work`.
    pub(super) fn covers(&self, stream: StreamId, work: WorkId) -> bool {
        stream == work.stream || self.reach(stream, work.stream) >= work.sequence
    }

    /// The number of pieces of `other`'s work that the next work of `stream` comes after.
    pub(super) fn reach(&self, stream: StreamId, other: StreamId) -> u64 {
        let now = self.streams.get(&stream).and_then(History::now);
        now.map_or(0, |clock| clock.reach(other))
    }

    /// The clock of all that is done once the work is.
    pub(super) fn at(&self, work: WorkId) -> VectorClock {
        let before = self.streams.get(&work.stream).and_then(|history| history.at(work.sequence));
        let mut clock = before.cloned().unwrap_or_default();
        clock.raise(work);
        clock
    }

    /// Notes that what comes after the first `sequence` pieces of a stream's work comes after
    /// `awaited` too.
    pub(super) fn order(&mut self, stream: StreamId, sequence: u64, awaited: WorkId) {
        let awaited = self.at(awaited);
        self.streams.entry(stream).or_default().join(sequence, &awaited);
    }

    /// Notes the work with that number, of a stream that waits for the legacy stream by itself, or
    /// is it.
    pub(super) fn order_by_legacy(&mut self, stream: StreamId, legacy: Legacy, sequence: u64) {
        let awaited: Vec<WorkId> = self
            .blocking
            .iter()
            .filter(|(other, (others, _))| {
                let is_of_them = legacy == Legacy::Itself || *others == Legacy::Itself;
                is_of_them && other.device() == stream.device() && **other != stream
            })
            .map(|(&stream, &(_, sequence))| WorkId { stream, sequence })
            .collect();
        for awaited in awaited {
            self.order(stream, sequence.saturating_sub(1), awaited);
        }
        self.blocking.insert(stream, (legacy, sequence));
    }

    /// Forgets what is known to be done.
    pub(super) fn forget(&mut self, done: &VectorClock) {
        self.streams.retain(|_, history| {
            history.forget(done);
            !history.changes.is_empty()
        });
        self.blocking.retain(|&stream, (_, sequence)| *sequence > done.reach(stream));
    }
}

impl History {
    fn now(&self) -> Option<&VectorClock> {
        self.changes.back().map(|(_, clock)| clock)
    }

    fn at(&self, sequence: u64) -> Option<&VectorClock> {
        let after = self.changes.partition_point(|(from, _)| *from <= sequence);
        let index = match after {
            0 if self.is_shortened => 0,
            0 => return None,
            after => after - 1,
        };
        self.changes.get(index).map(|(_, clock)| clock)
    }

    fn join(&mut self, from: u64, awaited: &VectorClock) {
        let mut clock = self.now().cloned().unwrap_or_default();
        clock.join(awaited);
        match self.changes.back_mut() {
            Some(last) if last.1 == clock => {}
            // Also where another thread was first to say what it knows of a later number.
            Some(last) if last.0 >= from => last.1 = clock,
            _ => self.changes.push_back((from, clock)),
        }
        if self.changes.len() > KEPT {
            self.changes.pop_front();
            self.is_shortened = true;
        }
    }

    fn forget(&mut self, done: &VectorClock) {
        self.changes.iter_mut().for_each(|(_, clock)| clock.forget(done));
        while self.changes.front().is_some_and(|(_, clock)| clock.is_empty()) {
            self.changes.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: StreamId = StreamId::of(0, 1);
    const B: StreamId = StreamId::of(0, 2);
    const C: StreamId = StreamId::of(0, 3);

    fn work(stream: StreamId, sequence: u64) -> WorkId {
        WorkId { stream, sequence }
    }

    #[test]
    fn a_wait_reaches_what_the_awaited_point_came_after_and_not_what_came_later() {
        let mut histories = Histories::default();
        histories.order(B, 2, work(A, 3));
        histories.order(B, 5, work(A, 9));
        histories.order(C, 1, work(B, 4));
        assert!(histories.covers(C, work(B, 4)) && histories.covers(C, work(A, 3)));
        assert!(!histories.covers(C, work(A, 4)) && !histories.covers(C, work(B, 5)));
        histories.order(C, 2, work(B, 1));
        assert!(!histories.covers(C, work(A, 4)));
    }

    #[test]
    fn what_is_done_is_forgotten_and_orders_nothing_any_more() {
        let mut histories = Histories::default();
        histories.order(B, 2, work(A, 3));
        histories.order(B, 5, work(A, 9));
        let mut done = VectorClock::default();
        done.raise(work(A, 9));
        histories.forget(&done);
        assert!(histories.streams.is_empty());
    }

    #[test]
    fn a_long_history_is_shortened_towards_more_order() {
        let mut histories = Histories::default();
        for sequence in 1..=KEPT as u64 + 10 {
            histories.order(B, sequence, work(A, sequence));
        }
        assert_eq!(histories.streams[&B].changes.len(), KEPT);
        assert_eq!(histories.at(work(B, 1)).reach(A), 11);
    }

    #[test]
    fn the_legacy_stream_is_ordered_with_those_that_wait_for_it_and_with_no_others() {
        let (legacy, ordered, elsewhere) = (A, B, StreamId::of(1, 4));
        let mut histories = Histories::default();
        histories.order_by_legacy(ordered, Legacy::Ordered, 1);
        histories.order_by_legacy(legacy, Legacy::Itself, 1);
        assert!(histories.covers(legacy, work(ordered, 1)));
        histories.order_by_legacy(C, Legacy::Ordered, 1);
        assert!(histories.covers(C, work(legacy, 1)) && histories.covers(C, work(ordered, 1)));
        histories.order_by_legacy(elsewhere, Legacy::Ordered, 1);
        assert!(!histories.covers(elsewhere, work(legacy, 1)));
        assert!(!histories.covers(ordered, work(C, 1)));
    }
}
