//! What statistics should say, counted one by one.

use gpu_alloc::policy::{Block, MemoryStats, Statistic};

/// Blocks, bytes, and bytes that were asked for.
type Sums = [u64; 3];

/// What statistics say of all memory, and of that for large and for small requests.
#[derive(Default, Clone, Copy)]
pub(crate) struct CountedStats {
    pub(crate) now: [Sums; 3],
    pub(crate) peak: [Sums; 3],
    taken: [Sums; 3],
    freed: [Sums; 3],
}

impl CountedStats {
    pub(crate) fn change(&mut self, block: &Block, requested: u64, is_taken: bool) {
        let pool = if block.bytes() <= 256 << 10 { 2 } else { 1 };
        let sums = [1, block.bytes(), requested];
        for pool in [0, pool] {
            for (index, sum) in sums.into_iter().enumerate() {
                if is_taken {
                    self.now[pool][index] += sum;
                    self.taken[pool][index] += sum;
                } else {
                    self.now[pool][index] -= sum;
                    self.freed[pool][index] += sum;
                }
                self.peak[pool][index] = self.peak[pool][index].max(self.now[pool][index]);
            }
        }
    }

    pub(crate) fn check(&self, statistics: &MemoryStats) {
        let MemoryStats { allocation, allocated_bytes, requested_bytes, .. } = statistics;
        let (active, active_bytes) = (&statistics.active, &statistics.active_bytes);
        for (counted, active) in [(allocation, active), (allocated_bytes, active_bytes)] {
            assert_eq!(counted.all.current, active.all.current);
            // What graphs use stays active after its free.
            assert!(counted.all.peak <= active.all.peak);
        }
        for (index, counted) in [allocation, allocated_bytes, requested_bytes].iter().enumerate() {
            let pools = [counted.all, counted.large_pool, counted.small_pool];
            let lasts = index == 2;
            let expected = [0, 1, 2].map(|pool| Statistic {
                current: self.now[pool][index],
                // What was asked for lasts until it is active no more.
                peak: if lasts { pools[pool].peak } else { self.peak[pool][index] },
                allocated: self.taken[pool][index],
                freed: self.freed[pool][index],
            });
            assert_eq!(pools, expected);
            assert!((0..3).all(|pool| pools[pool].peak >= self.peak[pool][index]));
        }
    }
}
