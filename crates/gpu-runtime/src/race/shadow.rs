//! The shadow of memory: for each byte the last write, and the reads since. Bytes go by their places:
//! two addresses may show one.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::act::{Act, Conflict, PriorAccess};
use super::placed::Placed;
use crate::types::{Access, Allocation, WorkId};

/// Intervals of places that do not overlap, by where they begin.
#[derive(Default)]
pub(super) struct Shadow {
    intervals: BTreeMap<u64, Interval>,
}

/// Neighbouring bytes that were accessed alike.
#[derive(Clone)]
struct Interval {
    end: u64,
    write: Option<PriorAccess>,
    reads: SmallVec<[PriorAccess; 2]>,
}

impl Shadow {
    /// Adds to `found` the earlier accesses that conflict with this one and that it does not come
    /// after, each with all the bytes it concerns as one range.
    pub(super) fn conflicts(
        &self,
        access: &Placed,
        comes_before: impl Fn(WorkId) -> bool,
        found: &mut Vec<Conflict>,
    ) {
        let range = access.places();
        for (&start, interval) in self.overlapping(&range) {
            let common = start.max(range.start)..interval.end.min(range.end);
            let mut note = |earlier: &PriorAccess, earlier_access| {
                if !comes_before(earlier.act.id) {
                    let later_access = access.access;
                    let earlier = earlier.clone();
                    let place = common.start;
                    let first = access.address(place);
                    let range = first..first + (common.end - place);
                    add(found, Conflict { earlier, earlier_access, later_access, range, place });
                }
            };
            interval.write.iter().for_each(|write| note(write, Access::Write));
            if access.access == Access::Write {
                interval.reads.iter().for_each(|read| note(read, Access::Read));
            }
        }
    }

    /// Notes a read. Reads that it comes after need not be remembered: what comes after it comes
    /// after them.
    pub(super) fn read(
        &mut self,
        range: Range<u64>,
        act: &Arc<Act>,
        comes_before: impl Fn(WorkId) -> bool,
    ) {
        let trace = || PriorAccess { act: Arc::clone(act), former: None };
        self.split(range.start);
        self.split(range.end);
        let mut gaps: SmallVec<[Range<u64>; 4]> = SmallVec::new();
        let mut reached = range.start;
        for (&start, interval) in self.intervals.range_mut(range.clone()) {
            if reached < start {
                gaps.push(reached..start);
            }
            reached = interval.end;
            interval.reads.retain(|read| !comes_before(read.act.id));
            interval.reads.push(trace());
        }
        if reached < range.end {
            gaps.push(reached..range.end);
        }
        for gap in gaps {
            let reads = SmallVec::from_iter([trace()]);
            self.intervals.insert(gap.start, Interval { end: gap.end, write: None, reads });
        }
    }

    /// Notes a write, which takes the place of all that was there.
    pub(super) fn write(&mut self, range: Range<u64>, act: &Arc<Act>) {
        let write = Some(PriorAccess { act: Arc::clone(act), former: None });
        let written = Interval { end: range.end, write, reads: SmallVec::new() };
        // The same range again, as most writes are.
        if let Some(interval) = self.intervals.get_mut(&range.start)
            && interval.end == range.end
        {
            *interval = written;
            return;
        }
        self.remove(range.clone());
        self.intervals.insert(range.start, written);
    }

    /// Forgets all accesses there.
    pub(super) fn remove(&mut self, range: Range<u64>) {
        self.split(range.start);
        self.split(range.end);
        let inside: SmallVec<[u64; 8]> =
            self.intervals.range(range).map(|(&start, _)| start).collect();
        for start in inside {
            self.intervals.remove(&start);
        }
    }

    /// Notes that memory there was given back, and is given to somebody else only once `is_done` is;
    /// what else was there is remembered for whoever that will be.
    pub(super) fn release(
        &mut self,
        range: Range<u64>,
        memory: &Arc<Allocation>,
        is_done: impl Fn(WorkId) -> bool,
    ) {
        self.split(range.start);
        self.split(range.end);
        let inside: SmallVec<[u64; 8]> =
            self.intervals.range(range).map(|(&start, _)| start).collect();
        for start in inside {
            let Some(interval) = self.intervals.get_mut(&start) else { continue };
            interval.retain(|act| !is_done(act.id));
            let traces = interval.write.iter_mut().chain(&mut interval.reads);
            for trace in traces.filter(|trace| trace.former.is_none()) {
                trace.former = Some(Arc::clone(memory));
            }
            if interval.is_empty() {
                self.intervals.remove(&start);
            }
        }
    }

    /// Forgets accesses, wherever they are.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&Act) -> bool) {
        self.intervals.retain(|_, interval| {
            interval.retain(&is_kept);
            !interval.is_empty()
        });
    }

    /// The number of intervals.
    pub(super) fn len(&self) -> usize {
        self.intervals.len()
    }

    fn overlapping(&self, range: &Range<u64>) -> impl Iterator<Item = (&u64, &Interval)> {
        let before = self.intervals.range(..range.start).next_back();
        let into = before.filter(|(_, interval)| interval.end > range.start);
        into.into_iter().chain(self.intervals.range(range.clone()))
    }

    /// Has an interval begin at `at`, if one goes beyond it.
    fn split(&mut self, at: u64) {
        let Some((_, interval)) = self.intervals.range_mut(..at).next_back() else { return };
        if interval.end > at {
            let second = interval.clone();
            interval.end = at;
            self.intervals.insert(at, second);
        }
    }
}

impl Interval {
    fn retain(&mut self, is_kept: impl Fn(&Act) -> bool) {
        self.write.take_if(|write| !is_kept(&write.act));
        self.reads.retain(|read| is_kept(&read.act));
    }

    fn is_empty(&self) -> bool {
        self.write.is_none() && self.reads.is_empty()
    }
}

/// Adds a conflict, or to the one of the same two accesses.
fn add(found: &mut Vec<Conflict>, new: Conflict) {
    let same = |known: &&mut Conflict| {
        Arc::ptr_eq(&known.earlier.act, &new.earlier.act)
            && known.earlier_access == new.earlier_access
            && known.later_access == new.later_access
    };
    match found.iter_mut().find(same) {
        Some(known) => {
            if new.range.start < known.range.start {
                known.range.start = new.range.start;
                known.place = new.place;
            }
            known.range.end = known.range.end.max(new.range.end);
        }
        None => found.push(new),
    }
}
