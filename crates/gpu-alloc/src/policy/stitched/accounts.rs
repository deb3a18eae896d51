//! Exact statistics, though each stream cache counts for itself.

use super::cache_table::CacheTable;
use super::stream_cache::{SHARED, StreamCache};
use crate::policy::stream_caches::{LocalStats, headroom_below_peaks};
use crate::policy::{MemoryStats, Pool, StreamName};

/// The counts of all stream caches together, but for what each has counted since they were last
/// added up.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    counted: MemoryStats,
    /// The most bytes that were held at once; less once memory was given back since.
    most_held: u64,
}

impl Accounts {
    /// All counts as they are now.
    pub(super) fn statistics<K: StreamName>(&self, caches: &CacheTable<K>) -> MemoryStats {
        let mut statistics = self.counted.clone();
        caches.caches().for_each(|cache| cache.local_stats.add_to(&mut statistics));
        statistics
    }

    /// The statistics that only this counts, to change: nothing that stream caches count.
    pub(super) fn counted_mut(&mut self) -> &mut MemoryStats {
        &mut self.counted
    }

    pub(super) fn most_held(&self) -> u64 {
        self.most_held
    }

    /// Lets the most that was held be less, as nobody has held more for some time.
    pub(super) fn lower_most_held<K: StreamName>(
        &mut self,
        caches: &mut CacheTable<K>,
        least: impl FnOnce(u64) -> u64,
    ) {
        self.add_up(caches);
        self.most_held = least(self.most_held).max(self.held(caches));
    }

    pub(super) fn reset_peak<K: StreamName>(&mut self, caches: &mut CacheTable<K>) {
        self.add_up(caches);
        self.counted.reset_peak();
    }

    pub(super) fn reset_accumulated<K: StreamName>(&mut self, caches: &mut CacheTable<K>) {
        self.add_up(caches);
        self.counted.reset_accumulated();
    }

    /// Counts an allocation that a stream cache has no headroom for, and gives out headroom anew.
    pub(super) fn count_allocation<K: StreamName>(
        &mut self,
        caches: &mut CacheTable<K>,
        cache: usize,
        (pool, bytes, requested): (Pool, u64, u64),
    ) {
        self.add_up(caches);
        self.counted.count_allocation(pool, bytes, requested);
        self.balance(caches, cache);
    }

    /// The bytes that are held.
    pub(super) fn held<K: StreamName>(&self, caches: &CacheTable<K>) -> u64 {
        let gained = caches.caches().map(|cache| cache.local_stats.bytes_gained()).sum::<i64>();
        self.counted.allocated_bytes.all.current.strict_add_signed(gained)
    }

    /// Adds up what the stream caches have counted. Until they have [headroom](Accounts::balance)
    /// again, they count no request.
    fn add_up<K: StreamName>(&mut self, caches: &mut CacheTable<K>) {
        for cache in caches.caches_mut() {
            let local_stats = std::mem::take(&mut cache.local_stats);
            cache.is_active |= local_stats.has_counted();
            local_stats.add_to(&mut self.counted);
        }
    }

    /// Gives the stream caches what is left below all peaks: half of it to the one that needed it
    /// last, and equal parts of the rest to those others that were in use since.
    ///
    /// Where little is left, it would be lost on idle ones, and those in use would take it from each
    /// other for ever. They must have been added up before.
    fn balance<K: StreamName>(&mut self, caches: &mut CacheTable<K>, needy: usize) {
        let held = self.counted.allocated_bytes.all.current;
        self.most_held = self.most_held.max(held);
        // Peaks must be exact, as PyTorch's are, though caches on different threads count for
        // themselves: below the known peak nobody can make a new one.
        let mut headroom = headroom_below_peaks(&self.counted);
        // Beyond the most that was held, memory is a matter of the policy: it decides by that whether
        // pages move, so it has to be asked, peak or not.
        let both = &mut headroom[2].bytes;
        *both = (*both).min(self.most_held - held);
        let is_other = |cache: &StreamCache<K>| cache.is_active && cache.number() != needy;
        let others = caches.caches().filter(|cache| is_other(cache)).count() as u64;
        for cache in caches.caches_mut().filter(|cache| cache.number() != SHARED) {
            if cache.number() == needy {
                cache.local_stats = LocalStats::with_half(&headroom);
            } else if is_other(cache) {
                cache.local_stats = LocalStats::with_part(&headroom, others);
            }
            cache.is_active = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_exact_though_a_stream_cache_counts_below_it_by_itself() {
        let mut caches = CacheTable::<u8>::default();
        let cache = caches.add(1).expect("there is room for a stream").number();
        let mut accounts = Accounts::default();
        let small = (Pool::Small, 512, 500);
        accounts.count_allocation(&mut caches, cache, small);
        accounts.count_allocation(&mut caches, cache, small);
        let local = &mut caches.cache_mut(cache).local_stats;
        assert!(!local.take(small.0, small.1, small.2), "that would be a new peak");
        local.give_back(small.0, small.1, small.2);
        assert!(local.take(small.0, small.1, small.2));
        local.give_back(small.0, small.1, small.2);
        assert_eq!((accounts.held(&caches), accounts.most_held()), (512, 1024));
        let bytes = accounts.statistics(&caches).allocated_bytes.all;
        assert_eq!((bytes.current, bytes.peak, bytes.allocated), (512, 1024, 3 * 512));
        accounts.lower_most_held(&mut caches, |_| 0);
        assert_eq!(accounts.most_held(), 512);
    }
}
