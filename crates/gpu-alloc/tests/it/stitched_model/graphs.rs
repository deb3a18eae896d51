//! Memory that graphs use: it is kept apart, stays where it is, and is in use until they are gone.

use gpu_alloc::policy::{Policy, PoolId};

use super::places::{MappedPart, MappedParts};
use super::{Model, POOLS, STREAMS, join};

impl Model {
    /// The name that a pool has now.
    pub(super) fn pool(&self, pool: usize) -> PoolId {
        PoolId(pool as u64 + self.ended[pool] * POOLS as u64)
    }

    /// Notes what a pool hands out from now on, or that others get nothing of what pools have.
    pub(super) fn keep_apart(&mut self, pool: Option<PoolId>, places: &[MappedPart]) {
        for (other, kept) in self.of_graphs.iter().filter(|(other, _)| Some(**other) != pool) {
            assert!(!places.iter().any(|place| kept.meets(place)), "it is {other:?}'s");
        }
        if let Some(pool) = pool {
            let kept = self.of_graphs.entry(pool).or_insert_with(MappedParts::new);
            places.iter().for_each(|place| kept.insert(place));
        }
    }

    /// What graphs use is where it was.
    pub(super) fn check_graphs(&self) {
        for place in self.of_graphs.values().flat_map(MappedParts::iter) {
            let is_there = self.source.device().is_usable(place.address(), place.len());
            assert!(is_there, "{place:?} has moved");
        }
    }

    /// The graphs of a pool work in all its memory, after all work there so far, and are gone.
    pub(super) fn end_pool(&mut self, pool: usize, used_on: [bool; STREAMS]) {
        let name = self.pool(pool);
        self.ended[pool] += 1;
        let places = self.of_graphs.remove(&name).unwrap_or_else(MappedParts::new);
        let mut last = [0; STREAMS];
        for place in places.iter() {
            self.touched
                .within(place.memory, &place.bytes)
                .for_each(|touched| join(&mut last, &touched));
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
        for place in places.iter() {
            self.touched.update(place.memory, &place.bytes, |touched| {
                let mut touched = touched.unwrap_or_default();
                join(&mut touched, &last);
                touched
            });
        }
        for held in self.held.iter_mut().filter(|held| held.pool == Some(name)) {
            join(&mut held.after, &last);
        }
        let uses = self.names.into_iter().zip(last).filter(|(_, last)| *last > 0);
        let uses: Vec<_> = uses.collect();
        self.whole().end_pool(name, &uses);
    }
}
