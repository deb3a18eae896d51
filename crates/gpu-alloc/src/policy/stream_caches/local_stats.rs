//! The counts that a part of a policy keeps for itself, so that nobody else has to be asked.

use super::{MemoryStats, Pool, PoolStatistics};

/// A number of blocks, their bytes, and the bytes that were asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) blocks: u64,
    pub(crate) bytes: u64,
    pub(crate) requested: u64,
}

/// The requests and frees of one of several parts.
///
/// The peak of a sum is not the sum of the peaks, so none can say for itself whether its request
/// makes a new peak. But each has a headroom: by so much it may grow while the sum of all stays at or
/// below the peaks that are known. Memory that a part gets back adds to its headroom. Only when that is
/// too small, all parts are added up, which gives the exact peak, and new headroom.
#[derive(Debug, Default)]
pub(crate) struct LocalStats {
    taken: [Sum; 2],
    freed: [Sum; 2],
    /// The headroom of the small pool, of the large one, and of both together.
    headroom: [Sum; 3],
}

const ALL: usize = 2;

impl Sum {
    fn of(bytes: u64, requested: u64) -> Sum {
        Sum { blocks: 1, bytes, requested }
    }

    #[inline]
    fn covers(&self, other: &Sum) -> bool {
        // No branch for each: nearly always all are covered.
        (self.blocks >= other.blocks)
            & (self.bytes >= other.bytes)
            & (self.requested >= other.requested)
    }

    #[inline]
    fn add(&mut self, other: &Sum) {
        self.blocks += other.blocks;
        self.bytes += other.bytes;
        self.requested += other.requested;
    }

    #[inline]
    fn subtract(&mut self, other: &Sum) {
        self.blocks -= other.blocks;
        self.bytes -= other.bytes;
        self.requested -= other.requested;
    }

    fn map(&self, how: impl Fn(u64) -> u64) -> Sum {
        Sum { blocks: how(self.blocks), bytes: how(self.bytes), requested: how(self.requested) }
    }
}

impl LocalStats {
    /// Counts a block that is handed out; false, and nothing is counted, if the headroom is too small.
    #[inline]
    pub(crate) fn take(&mut self, pool: Pool, bytes: u64, requested: u64) -> bool {
        let (pool, sum) = (pool as usize, Sum::of(bytes, requested));
        if !(self.headroom[pool].covers(&sum) & self.headroom[ALL].covers(&sum)) {
            return false;
        }
        self.headroom[pool].subtract(&sum);
        self.headroom[ALL].subtract(&sum);
        self.taken[pool].add(&sum);
        true
    }

    /// Counts a block that is given back, and free at once.
    #[inline]
    pub(crate) fn give_back(&mut self, pool: Pool, bytes: u64, requested: u64) {
        let (pool, sum) = (pool as usize, Sum::of(bytes, requested));
        self.headroom[pool].add(&sum);
        self.headroom[ALL].add(&sum);
        self.freed[pool].add(&sum);
    }

    /// Whether it was used since it was made.
    pub(crate) fn has_counted(&self) -> bool {
        [self.taken, self.freed].as_flattened().iter().any(|sum| sum.blocks > 0)
    }

    /// The bytes by which what is held has grown since this was last added up.
    pub(crate) fn bytes_gained(&self) -> i64 {
        let [taken, freed] = [self.taken, self.freed].map(|sums| sums[0].bytes + sums[1].bytes);
        taken.wrapping_sub(freed) as i64
    }

    /// Adds everything to the statistics, without the peaks, which it stays below.
    pub(crate) fn add_to(&self, statistics: &mut MemoryStats) {
        for pool in [Pool::Small, Pool::Large] {
            let [taken, freed] = [self.taken, self.freed].map(|sums| sums[pool as usize]);
            let MemoryStats { allocation, active, allocated_bytes, active_bytes, .. } = statistics;
            let requested = &mut statistics.requested_bytes;
            for counts in [allocation, active] {
                counts.change(pool, taken.blocks, freed.blocks);
            }
            for sums in [allocated_bytes, active_bytes] {
                sums.change(pool, taken.bytes, freed.bytes);
            }
            requested.change(pool, taken.requested, freed.requested);
        }
    }

    /// Half of what is left below the peaks.
    pub(crate) fn with_half(headroom_below_peaks: &[Sum; 3]) -> LocalStats {
        LocalStats {
            headroom: headroom_below_peaks.map(|sum| sum.map(|all| all - all / 2)),
            ..LocalStats::default()
        }
    }

    /// An equal part of the other half, for one of so many.
    pub(crate) fn with_part(headroom_below_peaks: &[Sum; 3], parts: u64) -> LocalStats {
        LocalStats {
            headroom: headroom_below_peaks.map(|sum| sum.map(|all| all / 2 / parts)),
            ..LocalStats::default()
        }
    }
}

/// The amounts that are left below the peaks, by pool and for both.
pub(crate) fn headroom_below_peaks(statistics: &MemoryStats) -> [Sum; 3] {
    let MemoryStats { allocation, active, allocated_bytes, active_bytes, .. } = statistics;
    let requested = &statistics.requested_bytes;
    let least = |one: &PoolStatistics, other: &PoolStatistics| {
        let [one, other] = [one, other].map(|s| [s.small_pool, s.large_pool, s.all]);
        [0, 1, 2].map(|i: usize| one[i].below_peak().min(other[i].below_peak()))
    };
    let (blocks, bytes) = (least(allocation, active), least(allocated_bytes, active_bytes));
    let requested = least(requested, requested);
    [0, 1, 2].map(|i| Sum { blocks: blocks[i], bytes: bytes[i], requested: requested[i] })
}
