//! The memory that would have to be released for a request to succeed.

mod run;
mod units;

use smallvec::SmallVec;

/// A device's memory, as far as it matters to one request.
#[derive(Debug)]
pub(super) struct ReachableMemory {
    /// The segments of which the request may have a part: their blocks, in order.
    pub(super) segments: Vec<Vec<HeldPart>>,
    /// The size of a block that would serve the request.
    pub(super) block: u64,
    /// The places where memory could be brought instead.
    pub(super) places: Vec<CandidatePlace>,
    /// The bytes that the driver would still give.
    pub(super) room: u64,
}

/// A place for the request, or any.
#[derive(Debug)]
pub(super) struct CandidatePlace {
    /// The bytes that are missing there: from the driver, or of units.
    pub(super) needed: u64,
    /// The memory that goes back to the driver, or moves there, as a whole or not at all.
    pub(super) units: Vec<MovableUnit>,
}

/// A block: its bytes, and who has it.
type HeldPart = (u64, MemoryHolder);

/// A segment, a page, or a piece of some pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MovableUnit {
    pub(super) bytes: u64,
    /// The holders of a part of it, each once.
    pub(super) keepers: SmallVec<[MemoryHolder; 2]>,
}

/// The holder of some memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MemoryHolder {
    Nobody,
    /// Work that still uses it, though it was freed.
    Work,
    /// A holder, by number.
    Holder(usize),
    /// Graphs, or a pool that keeps what nobody holds of it.
    Pool,
    /// Somebody whom nothing is known of, or who cannot be without it.
    Unknown,
}

impl MemoryHolder {
    fn holder(&self) -> Option<usize> {
        match *self {
            MemoryHolder::Holder(number) => Some(number),
            _ => None,
        }
    }
}

impl ReachableMemory {
    /// Whether the request would succeed if the memory of those owners were free.
    pub(super) fn fits(&self, released: impl Fn(MemoryHolder) -> bool) -> bool {
        let is_free =
            |held_by: &MemoryHolder| *held_by == MemoryHolder::Nobody || released(*held_by);
        let fits_at = |place: &CandidatePlace| {
            let units = place.units.iter().filter(|unit| unit.keepers.iter().all(is_free));
            units.map(|unit| unit.bytes).sum::<u64>() >= place.wanted(self.room)
        };
        if self.places.iter().any(fits_at) {
            return true;
        }
        let mut runs = self.segments.iter().flat_map(|parts| parts.split(|part| !is_free(&part.1)));
        runs.any(|run| run.iter().map(|part| part.0).sum::<u64>() >= self.block)
    }

    /// Lets all pools end that keep memory for others.
    pub(super) fn end_pools(&mut self) {
        let units = self.places.iter_mut().flat_map(|place| &mut place.units);
        units.for_each(|unit| unit.keepers.retain(|keeper| *keeper != MemoryHolder::Pool));
    }

    /// The fewest of `holders`, given by their bytes, whose release would do, and of those the least
    /// memory; see [`OutOfMemory::enough_to_release`](super::OutOfMemory::enough_to_release).
    pub(super) fn enough(&self, holders: &[u64]) -> Vec<usize> {
        let cost = |set: &Vec<usize>| (set.len(), set.iter().map(|one| holders[*one]).sum::<u64>());
        let run = self.enough_for_a_run(holders);
        let places = self.places.iter().map(|place| place.enough(self.room, holders));
        let sets = places.chain([run]).flatten();
        let Some(mut set) = sets.min_by_key(cost) else { return Vec::new() };
        // Of those who have a run among them, or would do at one place, fewer may do at another.
        set.sort_by_key(|holder| holders[*holder]);
        self.places.iter().for_each(|place| place.leave_out(&mut set, self.room, holders.len()));
        set.sort_unstable();
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOBODY: MemoryHolder = MemoryHolder::Nobody;
    const UNKNOWN: MemoryHolder = MemoryHolder::Unknown;

    fn of(holder: usize) -> MemoryHolder {
        MemoryHolder::Holder(holder)
    }

    /// Segments that go back as a whole.
    fn memory(segments: &[&[(u64, MemoryHolder)]], room: u64, block: u64) -> ReachableMemory {
        let unit = |parts: &&[(u64, MemoryHolder)]| {
            let mut keepers: SmallVec<_> = parts.iter().map(|part| part.1).collect();
            keepers.retain(|keeper| *keeper != NOBODY);
            keepers.sort_unstable();
            keepers.dedup();
            MovableUnit { bytes: parts.iter().map(|part| part.0).sum(), keepers }
        };
        let units = segments.iter().map(unit).collect();
        let segments = segments.iter().map(|parts| parts.to_vec()).collect();
        ReachableMemory {
            segments,
            block,
            places: vec![CandidatePlace { needed: block, units }],
            room,
        }
    }

    #[test]
    fn a_run_between_released_neighbours_serves() {
        let parts = [(3, NOBODY), (4, of(0)), (3, of(1))];
        let memory = memory(&[&parts], 0, 7);
        assert!(!memory.fits(|_| false));
        assert!(memory.fits(|held_by| held_by == of(0)));
        assert!(!memory.fits(|held_by| held_by == of(1)));
        assert_eq!(memory.enough(&[4, 3]), [0]);
    }

    #[test]
    fn whole_segments_go_back_to_the_driver_and_parts_do_not() {
        let (one, two) = ([(4, of(0)), (4, NOBODY)], [(4, of(1))]);
        let memory = memory(&[&one, &two], 2, 14);
        assert_eq!(memory.enough(&[4, 4]), [0, 1]);
        assert!(!memory.fits(|held_by| held_by == of(0)));
    }

    #[test]
    fn what_a_pool_keeps_is_of_use_once_the_pool_has_ended() {
        let mut memory = memory(&[&[(4, of(0)), (4, MemoryHolder::Pool)]], 0, 8);
        assert!(memory.enough(&[4]).is_empty());
        memory.end_pools();
        assert!(!memory.fits(|_| false));
        assert_eq!(memory.enough(&[4]), [0]);
    }

    #[test]
    fn nothing_is_enough_where_others_have_the_memory() {
        let memory = memory(&[&[(4, of(0)), (4, UNKNOWN)]], 0, 5);
        assert!(memory.enough(&[4]).is_empty());
    }

    fn held_by() -> impl Strategy<Value = MemoryHolder> {
        prop_oneof![
            2 => Just(NOBODY),
            1 => Just(UNKNOWN),
            5 => (0_usize..6).prop_map(of),
        ]
    }

    proptest! {
        #[test]
        fn no_smaller_set_would_do(
            segments in prop::collection::vec(
                prop::collection::vec((1_u64..5, held_by()), 1..8), 1..5),
            room in 0_u64..4,
            block in 4_u64..24,
        ) {
            let parts: Vec<_> = segments.iter().map(Vec::as_slice).collect();
            let memory = memory(&parts, room, block);
            prop_assume!(!memory.fits(|_| false));
            let mut held = [0; 6];
            for (bytes, held_by) in segments.iter().flatten() {
                if let MemoryHolder::Holder(one) = held_by {
                    held[*one] += bytes;
                }
            }
            let enough = memory.enough(&held);
            let fits = |set: u32| {
                memory.fits(|held_by| held_by.holder().is_some_and(|one| set >> one & 1 == 1))
            };
            let bytes = |set: u32| (0..6).filter(|one| set >> one & 1 == 1).map(|one| held[one]).sum();
            let cost = |set: u32| -> (u32, u64) { (set.count_ones(), bytes(set)) };
            let found = enough.iter().fold(0_u32, |set, one| set | 1 << one);
            let all = (0_u32..64).filter(|set| fits(*set));
            match all.map(cost).min() {
                None => prop_assert_eq!(found, 0),
                Some(least) => {
                    prop_assert!(fits(found));
                    prop_assert!(enough.iter().all(|one| !fits(found & !(1 << one))));
                    prop_assert!(least.0 > 2 || cost(found) == least);
                }
            }
        }
    }
}
