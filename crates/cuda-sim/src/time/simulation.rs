//! When operations would begin and end: a conservative discrete-event simulation.
//!
//! The first operations of all streams whose predecessors are decided stand in line by the time at
//! which they could begin, then by stream. The first in line is decided once no call of the host
//! can come earlier any more (Chandy and Misra, "Distributed Simulation", IEEE Transactions on
//! Software Engineering 5(5), 1979): what comes later begins later, so nothing decided changes.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use smallvec::SmallVec;

use super::demand::{Demand, Engine};
use super::hosts::Hosts;
use super::position::{StreamOrdinal, StreamPosition};
use super::spans::Spans;
use super::timestamp::Timestamp;
use crate::config::TimeModel;
use crate::links::Residence;

/// An operation as it is enqueued.
#[derive(Debug)]
pub(crate) struct TimedOperation {
    pub(crate) at: StreamPosition,
    pub(crate) after: SmallVec<[StreamPosition; 2]>,
    pub(crate) demand: Demand,
    /// The place for the time of its end, where that is wanted.
    pub(crate) stamp: Option<Arc<Timestamp>>,
}

/// The streams, the engines and the host's threads, as far as their times are decided.
#[derive(Debug, Default)]
pub(super) struct Simulation {
    pub(super) hosts: Hosts,
    pub(super) spans: Spans,
    streams: BTreeMap<StreamOrdinal, SimulatedStream>,
    /// The streams of which it is known when their first operation could begin, by that time.
    line: BTreeSet<(u64, StreamOrdinal)>,
    /// The others that have one, by a position that it comes after and that is not decided.
    held_up: BTreeMap<(StreamOrdinal, u64), Vec<StreamOrdinal>>,
    /// The time at which each engine is free.
    free: HashMap<Engine, u64>,
    /// The time up to which everything that could begin is decided.
    decided: u64,
}

#[derive(Debug, Default)]
struct SimulatedStream {
    pending: VecDeque<UndecidedOperation>,
    /// The times at which operations ended, the last ones only.
    ends: VecDeque<u64>,
    /// The sequence number of the last one.
    last: u64,
    is_closed: bool,
}

#[derive(Debug)]
struct UndecidedOperation {
    operation: TimedOperation,
    issued: u64,
}

/// The number of ends that are remembered of each stream. Who asks for one before those is told the
/// first.
const MAX_ENDS: usize = 1 << 18;

impl Simulation {
    pub(super) fn enqueue(&mut self, operation: TimedOperation, issued: u64, model: &TimeModel) {
        let id = operation.at.stream;
        let stream = self.streams.entry(id).or_default();
        let is_first = stream.pending.is_empty();
        if is_first {
            stream.last = stream.last.max(operation.at.sequence - 1);
        }
        stream.pending.push_back(UndecidedOperation { operation, issued });
        if is_first {
            self.let_go(id, model);
            self.line_up(id, model);
        }
    }

    /// The stream gets no more work, and nobody asks for it.
    pub(super) fn forget(&mut self, stream: StreamOrdinal, model: &TimeModel) {
        if let Some(known) = self.streams.get_mut(&stream) {
            known.is_closed = true;
            self.drop_if_done(stream);
            self.let_go(stream, model);
        }
    }

    /// The time at which a position is reached, if that is decided.
    pub(super) fn end_of(&self, position: StreamPosition) -> Option<u64> {
        let Some(stream) = self.streams.get(&position.stream) else { return Some(0) };
        let back = match stream.last.checked_sub(position.sequence) {
            Some(back) => usize::try_from(back).unwrap_or(usize::MAX),
            None => return None,
        };
        let place = stream.ends.len().saturating_sub(back.saturating_add(1));
        Some(stream.ends.get(place).copied().unwrap_or(0))
    }

    /// The time up to which everything that could begin is decided.
    pub(super) fn decided(&self) -> u64 {
        self.decided
    }

    /// Decides all that can be, given that no call comes before `horizon`. Whether that was anything.
    pub(super) fn decide(
        &mut self,
        horizon: impl Fn(&Hosts) -> u64,
        model: &TimeModel,
        slowness: impl Fn(Residence, Residence) -> u64,
    ) -> bool {
        let mut is_any = false;
        while let Some(&(ready, stream)) = self.line.first() {
            if ready > horizon(&self.hosts) {
                break;
            }
            self.line.pop_first();
            let Some(pending) =
                self.streams.get_mut(&stream).and_then(|stream| stream.pending.pop_front())
            else {
                break;
            };
            is_any = true;
            // From here on nothing can come before it: no call (the horizon), and no operation, since
            // it is the first in line. So what is decided is final, whatever the real order was.
            let (engines, time) = pending.operation.demand.cost(model, &slowness);
            let free = |engine: &Engine| self.free.get(engine).copied().unwrap_or(0);
            let begin = engines.iter().map(free).max().unwrap_or(0).max(ready);
            let end = begin.saturating_add(time);
            for engine in engines {
                self.free.insert(engine, end);
            }
            self.decided = self.decided.max(ready);
            self.spans.note(pending.operation.at, begin, end);
            self.end(pending.operation, end, model);
        }
        is_any
    }

    fn end(&mut self, operation: TimedOperation, at: u64, model: &TimeModel) {
        let id = operation.at.stream;
        if let Some(stamp) = operation.stamp {
            stamp.set(at);
        }
        let stream = self.streams.entry(id).or_default();
        stream.last = operation.at.sequence;
        stream.ends.push_back(at);
        if stream.ends.len() > MAX_ENDS {
            stream.ends.pop_front();
        }
        self.hosts.wake(operation.at, at);
        self.line_up(id, model);
        self.let_go(id, model);
        if self.drop_if_done(id) {
            self.let_go(id, model);
        }
    }

    /// Whether it was.
    fn drop_if_done(&mut self, stream: StreamOrdinal) -> bool {
        let is_done = self
            .streams
            .get(&stream)
            .is_some_and(|stream| stream.is_closed && stream.pending.is_empty());
        if is_done {
            self.streams.remove(&stream);
        }
        is_done
    }

    /// Puts a stream that has a first operation in line, or notes what holds it up. No operation could
    /// begin earlier than the first in line: what is held up comes after one of these.
    fn line_up(&mut self, id: StreamOrdinal, model: &TimeModel) {
        match self.ready(id, model) {
            None => {}
            Some(Ok(ready)) => drop(self.line.insert((ready, id))),
            Some(Err(awaited)) => {
                let place = (awaited.stream, awaited.sequence);
                self.held_up.entry(place).or_default().push(id);
            }
        }
    }

    /// Puts the streams in line that were held up by what is decided of a stream now.
    fn let_go(&mut self, id: StreamOrdinal, model: &TimeModel) {
        let last = self.streams.get(&id).map_or(u64::MAX, |stream| stream.last);
        while let Some((&place, _)) = self.held_up.range((id, 0)..=(id, last)).next() {
            for freed in self.held_up.remove(&place).unwrap_or_default() {
                self.line_up(freed, model);
            }
        }
    }

    /// The time at which the stream's next operation could begin, or a position that it waits for and
    /// that is not decided; nothing if there is none.
    fn ready(&self, id: StreamOrdinal, model: &TimeModel) -> Option<Result<u64, StreamPosition>> {
        let stream = self.streams.get(&id)?;
        let first = stream.pending.front()?;
        let before = stream.ends.back().copied();
        let mut after = before.unwrap_or(0);
        for &position in &first.operation.after {
            match self.end_of(position) {
                Some(end) => after = after.max(end),
                None => return Some(Err(position)),
            }
        }
        if !first.operation.demand.is_sent() {
            return Some(Ok(after.max(first.issued)));
        }
        let gap = if after > 0 { model.gap } else { 0 };
        Some(Ok((after + gap).max(first.issued + model.launch_latency)))
    }
}
