//! The statistics of policies whose memory comes in segments.

use super::{MemoryStats, Pool};

/// PyTorch's statistics, changed only by what can happen to segments and blocks.
#[derive(Debug)]
pub(super) struct SegmentAccounts {
    statistics: MemoryStats,
    /// The size from which on blocks and segments are oversize.
    oversize: u64,
}

impl SegmentAccounts {
    /// The accounts of a policy that has nothing yet, and keeps blocks from `max_split_size` on whole.
    pub(super) fn new(max_split_size: Option<u64>) -> Self {
        let statistics = MemoryStats { max_split_size, ..MemoryStats::default() };
        SegmentAccounts { statistics, oversize: max_split_size.unwrap_or(u64::MAX) }
    }

    pub(super) fn statistics(&self) -> &MemoryStats {
        &self.statistics
    }

    pub(super) fn reset_peak(&mut self) {
        self.statistics.reset_peak();
    }

    pub(super) fn reset_accumulated(&mut self) {
        self.statistics.reset_accumulated();
    }

    /// The bytes that the program holds.
    pub(super) fn held(&self) -> u64 {
        self.statistics.allocated_bytes.all.current
    }

    /// The bytes that were freed and wait for work.
    pub(super) fn pending(&self) -> u64 {
        self.statistics.active_bytes.all.current - self.held()
    }

    /// The bytes that are taken from the source.
    pub(super) fn reserved(&self) -> u64 {
        self.statistics.reserved_bytes.all.current
    }

    pub(super) fn segment_taken(&mut self, pool: Pool, bytes: u64) {
        self.statistics.segment.increase(pool, 1);
        if bytes >= self.oversize {
            self.statistics.oversize_segments.increase(1);
        }
        self.pages_mapped(pool, bytes);
    }

    pub(super) fn segment_released(&mut self, pool: Pool, bytes: u64) {
        self.statistics.segment.decrease(pool, 1);
        if bytes >= self.oversize {
            self.statistics.oversize_segments.decrease(1);
        }
        self.pages_unmapped(pool, bytes);
    }

    /// Pages of an expandable segment were mapped by one call. They are no segment of their own, in
    /// PyTorch's statistics either.
    pub(super) fn pages_mapped(&mut self, pool: Pool, bytes: u64) {
        self.statistics.reserved_bytes.increase(pool, bytes);
        self.statistics.num_device_alloc += 1;
    }

    pub(super) fn pages_unmapped(&mut self, pool: Pool, bytes: u64) {
        self.statistics.reserved_bytes.decrease(pool, bytes);
        self.statistics.num_device_free += 1;
    }

    pub(super) fn block_handed_out(&mut self, pool: Pool, bytes: u64, requested: u64) {
        self.statistics.count_allocation(pool, bytes, requested);
        if bytes >= self.oversize {
            self.statistics.oversize_allocations.increase(1);
        }
    }

    /// The program has freed a block, which may still wait for work.
    pub(super) fn block_freed(&mut self, pool: Pool, bytes: u64) {
        self.statistics.count_free(pool, bytes);
        if bytes >= self.oversize {
            self.statistics.oversize_allocations.decrease(1);
        }
    }

    /// A freed block waits for nothing any more.
    pub(super) fn block_reusable(&mut self, pool: Pool, bytes: u64, requested: u64) {
        self.statistics.count_free_completed(pool, bytes, requested);
    }

    /// Sets how many free blocks there are in segments that are partly in use, and their bytes.
    pub(super) fn set_inactive_split(&mut self, pool: Pool, (blocks, bytes): (u64, u64)) {
        self.statistics.inactive_split.settle(pool, blocks);
        self.statistics.inactive_split_bytes.settle(pool, bytes);
    }

    /// The source is asked again, after everything unused was given back to it.
    pub(super) fn retried(&mut self) {
        self.statistics.num_alloc_retries += 1;
    }

    /// A request was refused without asking the source.
    pub(super) fn rejected(&mut self) {
        self.statistics.num_oom_rejections += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversize_blocks_and_segments_are_counted_from_max_split_size_on() {
        let mut accounts = SegmentAccounts::new(Some(100));
        for bytes in [99, 100] {
            accounts.segment_taken(Pool::Large, bytes);
            accounts.block_handed_out(Pool::Large, bytes, 1);
        }
        let now = accounts.statistics();
        assert_eq!((now.oversize_segments.current, now.oversize_allocations.current), (1, 1));
        accounts.block_freed(Pool::Large, 100);
        accounts.segment_released(Pool::Large, 100);
        let now = accounts.statistics();
        assert_eq!((now.oversize_segments.current, now.oversize_allocations.current), (0, 0));
        assert_eq!((now.segment.all.current, accounts.reserved()), (1, 99));
    }

    #[test]
    fn what_is_freed_is_pending_until_it_can_be_handed_out_again() {
        let mut accounts = SegmentAccounts::new(None);
        accounts.block_handed_out(Pool::Small, 512, 10);
        accounts.block_freed(Pool::Small, 512);
        assert_eq!((accounts.held(), accounts.pending()), (0, 512));
        accounts.block_reusable(Pool::Small, 512, 10);
        assert_eq!((accounts.pending(), accounts.statistics().requested_bytes.all.current), (0, 0));
    }

    #[test]
    fn pages_are_reserved_memory_but_no_segment() {
        let mut accounts = SegmentAccounts::new(None);
        accounts.pages_mapped(Pool::Large, 20);
        accounts.pages_unmapped(Pool::Large, 10);
        let now = accounts.statistics();
        assert_eq!((now.segment.all.current, now.reserved_bytes.all.current), (0, 10));
        assert_eq!((now.num_device_alloc, now.num_device_free), (1, 1));
    }
}
