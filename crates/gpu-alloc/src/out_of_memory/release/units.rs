//! Whose release would let enough memory go back to the driver, or move.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{CandidatePlace, MemoryHolder, MovableUnit};

/// The memory that can be had as holders are released, and are not.
struct Released<'a> {
    units: &'a [MovableUnit],
    /// The units that each holder keeps.
    of_holder: Vec<Vec<usize>>,
    /// The number of holders that keep each unit still.
    keepers: Vec<usize>,
    /// The bytes of the units that nobody keeps any more.
    bytes: u64,
}

impl<'a> Released<'a> {
    fn none(units: &'a [MovableUnit], holders: usize) -> Self {
        let mut of_holder = vec![Vec::new(); holders];
        for (index, unit) in units.iter().enumerate() {
            let holders = unit.keepers.iter().filter_map(|keeper| keeper.holder());
            holders.for_each(|holder| of_holder[holder].push(index));
        }
        let keepers = units.iter().map(|unit| unit.keepers.len()).collect();
        let free = units.iter().filter(|unit| unit.keepers.is_empty());
        Released { units, of_holder, keepers, bytes: free.map(|unit| unit.bytes).sum() }
    }

    fn release(&mut self, holder: usize) {
        for unit in &self.of_holder[holder] {
            self.keepers[*unit] -= 1;
            if self.keepers[*unit] == 0 {
                self.bytes += self.units[*unit].bytes;
            }
        }
    }

    fn hold(&mut self, holder: usize) {
        for unit in &self.of_holder[holder] {
            if self.keepers[*unit] == 0 {
                self.bytes -= self.units[*unit].bytes;
            }
            self.keepers[*unit] += 1;
        }
    }

    /// Leaves out the holders, in their order, without whom so many bytes are had all the same.
    fn leave_out(&mut self, holders: &mut Vec<usize>, wanted: u64) {
        if self.bytes < wanted {
            return;
        }
        holders.retain(|holder| {
            self.hold(*holder);
            let is_needed = self.bytes < wanted;
            if is_needed {
                self.release(*holder);
            }
            is_needed
        });
    }
}

impl CandidatePlace {
    /// The bytes that must come from units.
    pub(super) fn wanted(&self, room: u64) -> u64 {
        self.needed.saturating_sub(room)
    }

    /// Leaves out those of the holders, the first first, who are not needed here. Where all of them
    /// would not do here, all are.
    pub(super) fn leave_out(&self, holders: &mut Vec<usize>, room: u64, count: usize) {
        let mut released = Released::none(&self.units, count);
        holders.iter().for_each(|holder| released.release(*holder));
        released.leave_out(holders, self.wanted(room));
    }

    /// The fewest holders, given by their bytes, whose release would let enough units go, and of
    /// those the least memory. Where it takes three or more, there may be fewer.
    pub(super) fn enough(&self, room: u64, held: &[u64]) -> Option<Vec<usize>> {
        let mut released = Released::none(&self.units, held.len());
        let wanted = self.wanted(room);
        let missing = wanted.saturating_sub(released.bytes);
        let gains = Gains::of(&self.units, held.len());
        if let Some(one) = gains.best(held, missing) {
            return Some(vec![one]);
        }
        if let Some(pair) = gains.best_pair(held, missing) {
            return Some(pair.to_vec());
        }
        let mut by_bytes: Vec<_> = (0..held.len()).collect();
        by_bytes.sort_by_key(|holder| (Reverse(held[*holder]), *holder));
        let last = by_bytes.iter().position(|holder| {
            released.release(*holder);
            released.bytes >= wanted
        })?;
        by_bytes.truncate(last + 1);
        by_bytes.reverse();
        released.leave_out(&mut by_bytes, wanted);
        Some(by_bytes)
    }
}

/// The bytes that go back if one or two holders are released.
struct Gains {
    alone: Vec<u64>,
    /// The bytes that only both together let go.
    joint: BTreeMap<[usize; 2], u64>,
}

impl Gains {
    fn of(units: &[MovableUnit], holders: usize) -> Gains {
        let mut gains = Gains { alone: vec![0; holders], joint: BTreeMap::new() };
        for unit in units {
            match unit.keepers[..] {
                [MemoryHolder::Holder(one)] => gains.alone[one] += unit.bytes,
                [MemoryHolder::Holder(one), MemoryHolder::Holder(other)] => {
                    *gains.joint.entry([one, other]).or_default() += unit.bytes;
                }
                _ => {}
            }
        }
        gains
    }

    fn best(&self, held: &[u64], missing: u64) -> Option<usize> {
        let enough = (0..held.len()).filter(|holder| self.alone[*holder] >= missing);
        enough.min_by_key(|holder| held[*holder])
    }

    fn best_pair(&self, held: &[u64], missing: u64) -> Option<[usize; 2]> {
        let alone = |[one, other]: [usize; 2]| self.alone[one].saturating_add(self.alone[other]);
        let joined = self.joint.iter().filter(|(pair, joint)| alone(**pair) + **joint >= missing);
        // A pair that shares nothing: to each, of those who let enough go besides, who holds least.
        let mut most: Vec<_> = (0..held.len()).collect();
        most.sort_by_key(|holder| Reverse(self.alone[*holder]));
        let mut least: Vec<[Option<usize>; 2]> = Vec::with_capacity(most.len());
        for holder in &most {
            let [first, second] = least.last().copied().unwrap_or_default();
            let is_less = |than: Option<usize>| than.is_none_or(|than| held[*holder] < held[than]);
            least.push(match (is_less(first), is_less(second)) {
                (true, _) => [Some(*holder), first],
                (false, true) => [first, Some(*holder)],
                (false, false) => [first, second],
            });
        }
        let apart = most.iter().filter_map(|one| {
            let enough = most.partition_point(|other| alone([*one, *other]) >= missing);
            let others = least[enough.checked_sub(1)?];
            Some([*one, others.into_iter().flatten().find(|other| other != one)?])
        });
        let pairs = joined.map(|(pair, _)| *pair).chain(apart);
        pairs.min_by_key(|[one, other]| held[*one].saturating_add(held[*other]))
    }
}
