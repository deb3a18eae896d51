//! When operations would begin and end: a conservative discrete-event simulation.
//!
//! The first operations of all streams whose predecessors are decided stand in line by the time at
//! which they could begin, then by stream. The first in line is decided once no call of the host
//! can come earlier any more (Chandy and Misra, "Distributed Simulation", IEEE Transactions on
//! Software Engineering 5(5), 1979): what comes later begins later, so nothing decided changes.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use smallvec::SmallVec;

use super::demand::{Demand, Engine, Site};
use super::hosts::Hosts;
use super::model::TimeModel;
use super::spans::Spans;
use crate::queue::Timestamp;

/// A stream's number, in the order in which streams were made.
pub(crate) type LaneId = u64;

/// A position in a stream: all its operations up to one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) lane: LaneId,
    pub(crate) sequence: u64,
}

impl Position {
    /// Whether it is done when `done` is.
    pub(super) fn is_by(self, done: Position) -> bool {
        self.lane == done.lane && self.sequence <= done.sequence
    }
}

/// An operation as it is enqueued.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) at: Position,
    pub(crate) after: SmallVec<[Position; 2]>,
    pub(crate) demand: Demand,
    /// Where the time of its end is wanted.
    pub(crate) stamp: Option<Arc<Timestamp>>,
}

/// What is known of all streams.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    pub(super) hosts: Hosts,
    pub(super) spans: Spans,
    lanes: BTreeMap<LaneId, Lane>,
    /// When each engine is free.
    free: HashMap<Engine, u64>,
    /// Everything that could begin up to here is decided.
    decided: u64,
}

#[derive(Debug, Default)]
struct Lane {
    pending: VecDeque<Pending>,
    /// When operations ended, the last ones only.
    ends: VecDeque<u64>,
    /// The sequence number of the last one.
    last: u64,
    is_closed: bool,
}

#[derive(Debug)]
struct Pending {
    entry: Entry,
    issued: u64,
    /// When it could begin, once that is known.
    ready: Option<u64>,
}

/// So many ends are remembered of each stream. Who asks for one before those is told the first.
const REMEMBERED: usize = 1 << 18;

impl Timeline {
    pub(super) fn enqueue(&mut self, entry: Entry, issued: u64) {
        let lane = self.lanes.entry(entry.at.lane).or_default();
        if lane.pending.is_empty() {
            lane.last = lane.last.max(entry.at.sequence - 1);
        }
        lane.pending.push_back(Pending { entry, issued, ready: None });
    }

    /// The stream gets no more work, and nobody asks for it.
    pub(super) fn forget(&mut self, lane: LaneId) {
        if let Some(known) = self.lanes.get_mut(&lane) {
            known.is_closed = true;
            self.drop_if_done(lane);
        }
    }

    /// When a position is reached, if that is decided.
    pub(super) fn end_of(&self, position: Position) -> Option<u64> {
        let Some(lane) = self.lanes.get(&position.lane) else { return Some(0) };
        let back = match lane.last.checked_sub(position.sequence) {
            Some(back) => usize::try_from(back).unwrap_or(usize::MAX),
            None => return None,
        };
        let place = lane.ends.len().saturating_sub(back.saturating_add(1));
        Some(lane.ends.get(place).copied().unwrap_or(0))
    }

    /// Up to which time all that could begin is decided.
    pub(super) fn decided(&self) -> u64 {
        self.decided
    }

    /// Decides all that can be, given that no call comes before `horizon`.
    pub(super) fn decide(
        &mut self,
        horizon: impl Fn(&Hosts) -> u64,
        model: &TimeModel,
        slowness: impl Fn(Site, Site) -> u64,
    ) {
        while let Some((ready, lane)) = self.first_in_line(model) {
            if ready > horizon(&self.hosts) {
                return;
            }
            let Some(pending) = self.lanes.get_mut(&lane).and_then(|lane| lane.pending.pop_front())
            else {
                return;
            };
            let (engines, time) = pending.entry.demand.cost(model, &slowness);
            let free = |engine: &Engine| self.free.get(engine).copied().unwrap_or(0);
            let begin = engines.iter().map(free).max().unwrap_or(0).max(ready);
            let end = begin.saturating_add(time);
            for engine in engines {
                self.free.insert(engine, end);
            }
            self.decided = self.decided.max(ready);
            self.spans.note(pending.entry.at, begin, end);
            self.end(pending.entry, end);
        }
    }

    fn end(&mut self, entry: Entry, at: u64) {
        if let Some(stamp) = entry.stamp {
            stamp.set(at);
        }
        let lane = self.lanes.entry(entry.at.lane).or_default();
        lane.last = entry.at.sequence;
        lane.ends.push_back(at);
        if lane.ends.len() > REMEMBERED {
            lane.ends.pop_front();
        }
        self.hosts.wake(entry.at, at);
        self.drop_if_done(entry.at.lane);
    }

    fn drop_if_done(&mut self, lane: LaneId) {
        if self.lanes.get(&lane).is_some_and(|lane| lane.is_closed && lane.pending.is_empty()) {
            self.lanes.remove(&lane);
        }
    }

    /// The operation that could begin first, of those for which that is known. No other could begin
    /// earlier: they come after one of these.
    fn first_in_line(&mut self, model: &TimeModel) -> Option<(u64, LaneId)> {
        let unknown: Vec<LaneId> = self
            .lanes
            .iter()
            .filter(|(_, lane)| lane.pending.front().is_some_and(|first| first.ready.is_none()))
            .map(|(&id, _)| id)
            .collect();
        for id in unknown {
            let ready = self.ready(id, model);
            if let Some(first) = self.lanes.get_mut(&id).and_then(|lane| lane.pending.front_mut()) {
                first.ready = ready;
            }
        }
        let known = self.lanes.iter().filter_map(|(&id, lane)| {
            lane.pending.front().and_then(|first| first.ready).map(|ready| (ready, id))
        });
        known.min()
    }

    /// When the stream's next operation could begin, if what it waits for is decided.
    fn ready(&self, id: LaneId, model: &TimeModel) -> Option<u64> {
        let lane = self.lanes.get(&id)?;
        let first = lane.pending.front()?;
        let before = lane.ends.back().copied();
        let mut after = before.unwrap_or(0);
        for &position in &first.entry.after {
            after = after.max(self.end_of(position)?);
        }
        if !first.entry.demand.is_sent() {
            return Some(after.max(first.issued));
        }
        let gap = if after > 0 { model.gap } else { 0 };
        Some((after + gap).max(first.issued + model.launch_latency))
    }
}
