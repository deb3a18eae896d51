//! When operations would begin and end: a conservative discrete-event simulation.
//!
//! The first operations of all streams whose predecessors are decided stand in line by the time at
//! which they could begin, then by stream. The first in line is decided once no call of the host
//! can come earlier any more (Chandy and Misra, "Distributed Simulation", IEEE Transactions on
//! Software Engineering 5(5), 1979): what comes later begins later, so nothing decided changes.

use std::collections::{BTreeMap, HashMap, VecDeque};
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
    /// The time at which it could begin, once that is known.
    ready: Option<u64>,
}

/// The number of ends that are remembered of each stream. Who asks for one before those is told the
/// first.
const MAX_ENDS: usize = 1 << 18;

impl Simulation {
    pub(super) fn enqueue(&mut self, operation: TimedOperation, issued: u64) {
        let stream = self.streams.entry(operation.at.stream).or_default();
        if stream.pending.is_empty() {
            stream.last = stream.last.max(operation.at.sequence - 1);
        }
        stream.pending.push_back(UndecidedOperation { operation, issued, ready: None });
    }

    /// The stream gets no more work, and nobody asks for it.
    pub(super) fn forget(&mut self, stream: StreamOrdinal) {
        if let Some(known) = self.streams.get_mut(&stream) {
            known.is_closed = true;
            self.drop_if_done(stream);
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

    /// Decides all that can be, given that no call comes before `horizon`.
    pub(super) fn decide(
        &mut self,
        horizon: impl Fn(&Hosts) -> u64,
        model: &TimeModel,
        slowness: impl Fn(Residence, Residence) -> u64,
    ) {
        while let Some((ready, stream)) = self.first_in_line(model) {
            if ready > horizon(&self.hosts) {
                return;
            }
            let Some(pending) =
                self.streams.get_mut(&stream).and_then(|stream| stream.pending.pop_front())
            else {
                return;
            };
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
            self.end(pending.operation, end);
        }
    }

    fn end(&mut self, operation: TimedOperation, at: u64) {
        if let Some(stamp) = operation.stamp {
            stamp.set(at);
        }
        let stream = self.streams.entry(operation.at.stream).or_default();
        stream.last = operation.at.sequence;
        stream.ends.push_back(at);
        if stream.ends.len() > MAX_ENDS {
            stream.ends.pop_front();
        }
        self.hosts.wake(operation.at, at);
        self.drop_if_done(operation.at.stream);
    }

    fn drop_if_done(&mut self, stream: StreamOrdinal) {
        if self
            .streams
            .get(&stream)
            .is_some_and(|stream| stream.is_closed && stream.pending.is_empty())
        {
            self.streams.remove(&stream);
        }
    }

    /// The operation that could begin first, of those for which that is known. No other could begin
    /// earlier: they come after one of these.
    fn first_in_line(&mut self, model: &TimeModel) -> Option<(u64, StreamOrdinal)> {
        let unknown: Vec<StreamOrdinal> = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.pending.front().is_some_and(|first| first.ready.is_none()))
            .map(|(&id, _)| id)
            .collect();
        for id in unknown {
            let ready = self.ready(id, model);
            if let Some(first) =
                self.streams.get_mut(&id).and_then(|stream| stream.pending.front_mut())
            {
                first.ready = ready;
            }
        }
        let known = self.streams.iter().filter_map(|(&id, stream)| {
            stream.pending.front().and_then(|first| first.ready).map(|ready| (ready, id))
        });
        known.min()
    }

    /// The time at which the stream's next operation could begin, if what it waits for is decided.
    fn ready(&self, id: StreamOrdinal, model: &TimeModel) -> Option<u64> {
        let stream = self.streams.get(&id)?;
        let first = stream.pending.front()?;
        let before = stream.ends.back().copied();
        let mut after = before.unwrap_or(0);
        for &position in &first.operation.after {
            after = after.max(self.end_of(position)?);
        }
        if !first.operation.demand.is_sent() {
            return Some(after.max(first.issued));
        }
        let gap = if after > 0 { model.gap } else { 0 };
        Some((after + gap).max(first.issued + model.launch_latency))
    }
}
