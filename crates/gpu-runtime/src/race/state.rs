//! The knowledge of the checker: which accesses there were, and what comes before what.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::act::{Act, Conflict};
use super::clock::VectorClock;
use super::history::Histories;
use super::placed::{Placed, places};
use super::shadow::Shadow;
use crate::observe::Freed;
use crate::stream::Legacy;
use crate::types::{Access, Allocation, DevicePtr, StreamId, WorkId};
use crate::virtual_memory::AddressRun;

/// With so much new knowledge, what is over is looked for and forgotten.
const LOOK_AFTER: usize = 1024;

/// Accesses, order and memory. It calls no driver, so it can be tested by itself.
#[derive(Default)]
pub(super) struct RaceState {
    shadow: Shadow,
    histories: Histories,
    /// The work that the host knows to be done: all that it does from now on comes after. The threads of
    /// the
    /// host count as one, since nobody tells how they wait for each other.
    host: VectorClock,
    /// Memory from the driver, and what allocators made of it, by where it begins.
    whole: BTreeMap<u64, Arc<Allocation>>,
    parts: BTreeMap<u64, Arc<Allocation>>,
    /// The number of notes since what is over was last looked for.
    news: usize,
    /// With how much it will be looked for next.
    look_at: usize,
}

impl RaceState {
    /// The earlier accesses that work conflicts with and does not come after.
    pub(super) fn conflicts(&self, stream: StreamId, accesses: &[Placed]) -> Vec<Conflict> {
        self.conflicts_with(accesses, |work| self.is_before(stream, work))
    }

    /// The earlier accesses that an access of the host conflicts with and does not come after.
    pub(super) fn conflicts_of_host(&self, accesses: &[Placed]) -> Vec<Conflict> {
        self.conflicts_with(accesses, |work| self.host.covers(work))
    }

    /// Notes work that accesses memory.
    pub(super) fn note(&mut self, act: Act, accesses: &[Placed]) {
        let act = Arc::new(act);
        let RaceState { shadow, histories, host, .. } = self;
        let stream = act.id.stream;
        let ranges = |kind: Access| {
            let of_kind = accesses.iter().filter(move |access| access.access == kind);
            of_kind.map(Placed::places)
        };
        for range in ranges(Access::Read) {
            shadow.read(range, &act, |work| host.covers(work) || histories.covers(stream, work));
        }
        for range in ranges(Access::Write) {
            shadow.write(range, &act);
        }
        self.heard(accesses.len());
    }

    /// Forgets the accesses of work that was not done after all.
    pub(super) fn take_back(&mut self, id: WorkId) {
        self.shadow.retain(|act| act.id != id);
    }

    /// Notes that what comes after the first `sequence` pieces of a stream's work comes after
    /// `awaited` too.
    pub(super) fn order(&mut self, stream: StreamId, sequence: u64, awaited: WorkId) {
        self.histories.order(stream, sequence, awaited);
    }

    /// Notes the next work of a stream that the legacy stream waits for, or that is that stream.
    pub(super) fn order_by_legacy(&mut self, stream: StreamId, legacy: Legacy, sequence: u64) {
        self.histories.order_by_legacy(stream, legacy, sequence);
    }

    /// Notes that the host knows work to be done.
    pub(super) fn learn(&mut self, done: WorkId) {
        let done = self.histories.at(done);
        self.host.join(&done);
        self.heard(1);
    }

    /// The number of pieces of a stream's work that the next work of `stream` comes after, or what the
    /// host does
    /// next.
    pub(super) fn reach(&self, stream: Option<StreamId>, other: StreamId) -> u64 {
        let own = stream.map_or(0, |stream| self.histories.reach(stream, other));
        own.max(self.host.reach(other))
    }

    pub(super) fn allocated(&mut self, allocation: &Allocation) {
        let map = if allocation.is_part { &mut self.parts } else { &mut self.whole };
        map.insert(allocation.start.address(), Arc::new(*allocation));
    }

    /// Notes that memory was given back, which is in these pieces.
    pub(super) fn freed(&mut self, freed: &Freed<'_>, address_runs: &[AddressRun]) {
        let start = freed.start.address();
        if !freed.is_part {
            let range = start..start.saturating_add(freed.bytes as u64);
            self.whole.remove(&start);
            self.shadow.remove(range.clone());
            let parts: Vec<u64> = self.parts.range(range).map(|(&start, _)| start).collect();
            parts.iter().for_each(|start| drop(self.parts.remove(start)));
            return;
        }
        let mut done = VectorClock::default();
        for &work in freed.until {
            done.join(&self.histories.at(work));
        }
        let memory = self.parts.remove(&start);
        for range in address_runs.iter().map(places) {
            match &memory {
                Some(memory) => self.shadow.release(range, memory, |work| done.covers(work)),
                // It was got before anybody was told.
                None => self.shadow.remove(range),
            }
        }
    }

    /// The memory that holds an address, which shows that place: what an allocator shared out, else
    /// the driver's, as if all of it began where it is mapped.
    pub(super) fn memory_at(&self, address: u64, place: u64) -> Option<Allocation> {
        fn around(map: &BTreeMap<u64, Arc<Allocation>>, at: u64) -> Option<(u64, Allocation)> {
            let (start, allocation) = map.range(..=at).next_back()?;
            (at - start < allocation.bytes as u64).then_some((at - start, **allocation))
        }
        let part = around(&self.parts, address);
        let (offset, allocation) = part.or_else(|| around(&self.whole, place))?;
        Some(Allocation { start: DevicePtr::from_address(address - offset), ..allocation })
    }

    fn is_before(&self, stream: StreamId, work: WorkId) -> bool {
        self.host.covers(work) || self.histories.covers(stream, work)
    }

    fn conflicts_with(
        &self,
        accesses: &[Placed],
        is_before: impl Fn(WorkId) -> bool,
    ) -> Vec<Conflict> {
        let mut found = Vec::new();
        for access in accesses {
            self.shadow.conflicts(access, &is_before, &mut found);
        }
        found
    }

    fn heard(&mut self, news: usize) {
        self.news += news;
        if self.news > self.look_at.max(LOOK_AFTER) {
            self.forget_what_is_over();
        }
    }

    /// What the host knows to be done comes before everything that follows: no race is possible with
    /// it any more, and nobody needs to be told that it is done. Looked for whenever there are twice
    /// as many accesses as were left, it costs each access a constant.
    pub(super) fn forget_what_is_over(&mut self) {
        let RaceState { shadow, histories, host, .. } = self;
        shadow.retain(|act| !host.covers(act.id));
        histories.forget(host);
        *host = VectorClock::default();
        self.news = 0;
        self.look_at = self.shadow.len();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::super::placed::placed;
    use super::*;
    use crate::types::MemoryAccess;
    use crate::types::Work;

    /// A program that uses other memory with each piece of work, of which the host learns now and
    /// then that it is done; how many intervals there were at most.
    fn most_intervals(learns: impl Fn(u64) -> bool) -> usize {
        let (writer, reader) = (StreamId::of(0, 1), StreamId::of(0, 2));
        let mut state = RaceState::default();
        let mut most = 0;
        for sequence in 1..=20_000 {
            let written = WorkId { stream: writer, sequence };
            let read = WorkId { stream: reader, sequence };
            let act = |id| Act { id, work: Work::Callback, place: Location::caller() };
            let at = |access| placed(&[MemoryAccess { start: sequence * 16, bytes: 16, access }]);
            state.note(act(written), &at(Access::Write));
            state.order(reader, sequence, written);
            assert!(state.conflicts(reader, &at(Access::Read)).is_empty());
            state.note(act(read), &at(Access::Read));
            if learns(sequence) {
                state.learn(read);
            }
            most = most.max(state.shadow.len());
        }
        most
    }

    #[test]
    fn what_the_host_knows_to_be_done_is_forgotten() {
        assert!(most_intervals(|sequence| sequence % 100 == 0) < 2 * LOOK_AFTER);
        assert_eq!(most_intervals(|_| false), 20_000, "nothing of it is known to be done");
    }

    #[test]
    fn memory_that_goes_back_to_the_driver_is_forgotten_with_what_was_made_of_it() {
        let mut state = RaceState::default();
        let id = WorkId { stream: StreamId::of(0, 1), sequence: 1 };
        let (start, place) = (DevicePtr::from_address(4096), Location::caller());
        for (bytes, is_part) in [(4096, false), (512, true)] {
            let stream = Some(id.stream);
            state.allocated(&Allocation { start, bytes, device: None, stream, is_part, place });
        }
        let write = placed(&[MemoryAccess::write(start, 512)]);
        state.note(Act { id, work: Work::Callback, place }, &write);
        assert_eq!(state.memory_at(4100, 4100).map(|memory| memory.bytes), Some(512));
        let beyond = 4096 + 512;
        assert_eq!(state.memory_at(beyond, beyond).map(|memory| memory.bytes), Some(4096));
        state.freed(&Freed::whole(start, 4096), &[AddressRun::plain(&(4096..8192))]);
        assert_eq!((state.memory_at(4100, 4100), state.shadow.len()), (None, 0));
    }
}
