//! Memory that graphs use: it is kept apart, stays where it is, and is in use until they are gone.

use std::collections::HashSet;

use gpu_alloc::policy::{Address, Block, Policy, PoolId};

use super::{GRANULE, Granule, Model, POOLS, STREAMS, granules, join};

impl Model {
    /// The name that a pool has now.
    pub(super) fn pool(&self, pool: usize) -> PoolId {
        PoolId(pool as u64 + self.ended[pool] * POOLS as u64)
    }

    /// Notes what a pool hands out from now on, or that others get nothing of what pools have.
    pub(super) fn keep_apart(&mut self, pool: Option<PoolId>, block: &Block, places: &[Granule]) {
        for (other, kept) in self.of_graphs.iter().filter(|(other, _)| Some(**other) != pool) {
            assert!(!places.iter().any(|place| kept.contains_key(place)), "it is {other:?}'s");
        }
        if let Some(pool) = pool {
            let addresses = granules(block).map(Address);
            self.of_graphs.entry(pool).or_default().extend(places.iter().copied().zip(addresses));
        }
    }

    /// What graphs use is where it was.
    pub(super) fn check_graphs(&self) {
        for (place, address) in self.of_graphs.values().flatten() {
            assert!(self.source.device().is_usable(*address, GRANULE), "{place:?} has moved");
        }
    }

    /// The graphs of a pool work in all its memory, after all work there so far, and are gone.
    pub(super) fn end_pool(&mut self, pool: usize, used_on: [bool; STREAMS]) {
        let name = self.pool(pool);
        self.ended[pool] += 1;
        let places: HashSet<Granule> =
            self.of_graphs.remove(&name).into_iter().flatten().map(|(place, _)| place).collect();
        let mut last = [0; STREAMS];
        for touched in places.iter().filter_map(|place| self.touched.get(place)) {
            join(&mut last, touched);
        }
        for stream in (0..STREAMS).filter(|stream| used_on[*stream]) {
            for (work, last) in self.work.iter().zip(last) {
                if let Some(before) = last.checked_sub(1) {
                    join(&mut self.clocks[stream], &work[before as usize]);
                }
            }
            last[stream] = self.work[stream].len() as u64 + 1;
            self.clocks[stream][stream] = last[stream];
            self.work[stream].push(self.clocks[stream]);
        }
        for place in places {
            join(self.touched.entry(place).or_insert([0; STREAMS]), &last);
        }
        for held in self.held.iter_mut().filter(|held| held.pool == Some(name)) {
            join(&mut held.after, &last);
        }
        let uses = self.names.into_iter().zip(last).filter(|(_, last)| *last > 0);
        let uses: Vec<_> = uses.collect();
        self.whole().end_pool(name, &uses);
    }
}
