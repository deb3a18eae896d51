//! The allocators' statistics, under PyTorch's names.

use std::collections::BTreeMap;
use std::time::Duration;

use super::PoolId;

/// Kinds of requests that memory is kept apart for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pool {
    /// Requests of at most 1 MiB.
    Small,
    /// Larger requests.
    Large,
}

/// One quantity over time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistic {
    /// Its value now.
    pub current: u64,
    /// Its highest value since the last reset of the peaks.
    pub peak: u64,
    /// All that was added since the last reset of the accumulated values.
    pub allocated: u64,
    /// All that was taken away since the last reset of the accumulated values.
    pub freed: u64,
}

/// One quantity for both pools, and for each of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolStatistics {
    /// The sum over the pools; its peak is the peak of the sum.
    pub all: Statistic,
    /// The pool of large requests.
    pub large_pool: Statistic,
    /// The pool of small requests.
    pub small_pool: Statistic,
}

/// Statistics of a device's allocator. Sizes are in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// Blocks that the program holds.
    pub allocation: PoolStatistics,
    /// Their sizes, rounded as they were handed out.
    pub allocated_bytes: PoolStatistics,
    /// The bytes that were asked for, before rounding, which lasts until other streams are done with
    /// the block.
    pub requested_bytes: PoolStatistics,
    /// Blocks that the program holds, or has freed while other streams still use them.
    pub active: PoolStatistics,
    /// Their sizes.
    pub active_bytes: PoolStatistics,
    /// Pieces of memory taken from the driver.
    pub segment: PoolStatistics,
    /// Their sizes: what the driver counts as used by this process.
    pub reserved_bytes: PoolStatistics,
    /// Free blocks in segments that are partly in use, hence cannot be released. As PyTorch's, it
    /// leaves out memory that is mapped page by page, and so is 0 with [`Stitched`](crate::policy::Stitched);
    /// [`memory_summary`](crate::memory_summary) says what cannot go back with any policy.
    pub inactive_split: PoolStatistics,
    /// Their sizes.
    pub inactive_split_bytes: PoolStatistics,
    /// Blocks of at least `max_split_size`.
    pub oversize_allocations: Statistic,
    /// Segments of at least `max_split_size`.
    pub oversize_segments: Statistic,
    /// The number of times that the driver refused memory, and was asked again after a release of
    /// everything unused.
    pub num_alloc_retries: u64,
    /// The number of requests that were refused for good. Whoever runs the policy counts them, as it
    /// may try again after a wait.
    pub num_ooms: u64,
    /// The number of those that were refused without asking the driver, nor trying anything else: with
    /// PyTorch's policies what would have exceeded the memory limit, by their option
    /// `throw_on_cudamalloc_oom`; with [`Stitched`](crate::policy::Stitched) what there can never be enough for
    /// besides what is held.
    pub num_oom_rejections: u64,
    /// The number of times that the host waited for streams so that freed memory could be reused or
    /// released. Whoever runs the policy counts it, as the policy itself waits for nothing.
    pub num_sync_all_streams: u64,
    /// The number of pieces of memory that were taken from the driver: segments; with
    /// [`Stitched`](crate::policy::Stitched) pieces of some pages, also those that a refused request was given
    /// for a while.
    pub num_device_alloc: u64,
    /// The number of them that were given back.
    pub num_device_free: u64,
    /// The size from which on blocks are not split; `None`, as there is no such limit.
    pub max_split_size: Option<u64>,
    /// The bytes that are taken from the driver for each pool of graphs. Whoever runs the policy adds
    /// them up.
    pub reserved_bytes_by_private_pools: BTreeMap<PoolId, u64>,
}

/// Statistics of the allocator of page-locked host memory. Sizes are in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostMemoryStats {
    /// Pieces of memory that were page-locked at once, from which blocks are cut.
    pub allocations: Statistic,
    /// Their sizes: the memory that the operating system cannot use otherwise.
    pub allocated_bytes: Statistic,
    /// Blocks that the program holds, or has released while copies still use them.
    pub active_requests: Statistic,
    /// Their sizes.
    pub active_bytes: Statistic,
    /// The number of times that memory was page-locked.
    pub num_host_alloc: u64,
    /// The number of times that page-locked memory was given back.
    pub num_host_free: u64,
    /// The time that it took to page-lock memory. Whoever calls the driver measures it.
    pub host_alloc_time: DurationStatistic,
    /// The time that it took to give page-locked memory back, measured likewise.
    pub host_free_time: DurationStatistic,
}

/// The time that something took, in microseconds, over all the times that it was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DurationStatistic {
    /// All of them together.
    pub total: u64,
    /// The longest.
    pub max: u64,
    /// The shortest.
    pub min: u64,
    /// The number of times that it was done.
    pub count: u64,
}

impl DurationStatistic {
    /// The average, rounded down; 0 if it was never done.
    pub fn avg(&self) -> u64 {
        self.total.checked_div(self.count).unwrap_or(0)
    }

    pub(crate) fn add(&mut self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.min = if self.count == 0 { micros } else { self.min.min(micros) };
        self.max = self.max.max(micros);
        self.total = self.total.saturating_add(micros);
        self.count += 1;
    }
}

impl Statistic {
    #[inline]
    pub(crate) fn increase(&mut self, amount: u64) {
        self.current += amount;
        self.allocated += amount;
        self.peak = self.peak.max(self.current);
    }

    #[inline]
    pub(crate) fn decrease(&mut self, amount: u64) {
        self.current -= amount;
        self.freed += amount;
    }

    /// The amount by which it may grow without a new peak.
    pub(crate) fn below_peak(&self) -> u64 {
        self.peak - self.current
    }

    pub(crate) fn reset_peak(&mut self) {
        self.peak = self.current;
    }

    pub(crate) fn reset_accumulated(&mut self) {
        (self.allocated, self.freed) = (0, 0);
    }

    fn entries(&self) -> [(&'static str, u64); 4] {
        [
            ("current", self.current),
            ("peak", self.peak),
            ("allocated", self.allocated),
            ("freed", self.freed),
        ]
    }
}

impl PoolStatistics {
    /// The statistic of one pool.
    pub fn of(&self, pool: Pool) -> &Statistic {
        match pool {
            Pool::Small => &self.small_pool,
            Pool::Large => &self.large_pool,
        }
    }

    #[inline]
    pub(crate) fn increase(&mut self, pool: Pool, amount: u64) {
        self.both(pool).into_iter().for_each(|statistic| statistic.increase(amount));
    }

    #[inline]
    pub(crate) fn decrease(&mut self, pool: Pool, amount: u64) {
        self.both(pool).into_iter().for_each(|statistic| statistic.decrease(amount));
    }

    /// Adds what several operations added and took away, none of which made a new peak.
    pub(crate) fn change(&mut self, pool: Pool, added: u64, taken_away: u64) {
        for statistic in self.both(pool) {
            statistic.current = statistic.current + added - taken_away;
            statistic.allocated += added;
            statistic.freed += taken_away;
        }
    }

    /// Lets the peaks be what they were before, but for what is there now.
    pub(crate) fn forget_peaks_since(&mut self, before: &PoolStatistics) {
        let peaks = [before.all.peak, before.large_pool.peak, before.small_pool.peak];
        for (statistic, peak) in self.each().into_iter().zip(peaks) {
            statistic.peak = peak.max(statistic.current);
        }
    }

    pub(crate) fn reset_peak(&mut self) {
        self.each().into_iter().for_each(Statistic::reset_peak);
    }

    pub(crate) fn reset_accumulated(&mut self) {
        self.each().into_iter().for_each(Statistic::reset_accumulated);
    }

    /// Moves the pool's value to `value` in one step, so that what an operation adds and takes away
    /// again does not count.
    pub(crate) fn settle(&mut self, pool: Pool, value: u64) {
        let before = self.of(pool).current;
        if value > before {
            self.increase(pool, value - before);
        } else if value < before {
            self.decrease(pool, before - value);
        }
    }

    #[inline]
    fn both(&mut self, pool: Pool) -> [&mut Statistic; 2] {
        let one = match pool {
            Pool::Small => &mut self.small_pool,
            Pool::Large => &mut self.large_pool,
        };
        [&mut self.all, one]
    }

    fn each(&mut self) -> [&mut Statistic; 3] {
        [&mut self.all, &mut self.large_pool, &mut self.small_pool]
    }
}

impl HostMemoryStats {
    /// All values under PyTorch's flat names, such as `active_bytes.peak`. Times are in
    /// microseconds.
    pub fn entries(&self) -> impl Iterator<Item = (String, u64)> {
        let statistics = [
            ("allocations", self.allocations),
            ("allocated_bytes", self.allocated_bytes),
            ("active_requests", self.active_requests),
            ("active_bytes", self.active_bytes),
        ];
        let statistics =
            statistics.into_iter().flat_map(|(name, statistic)| flat(name.to_owned(), statistic));
        let counts =
            [("num_host_alloc", self.num_host_alloc), ("num_host_free", self.num_host_free)];
        let counts = counts.into_iter().map(|(name, value)| (name.to_owned(), value));
        let times =
            [("host_alloc_time", self.host_alloc_time), ("host_free_time", self.host_free_time)];
        let times = times.into_iter().flat_map(|(name, time)| {
            let DurationStatistic { total, max, min, count } = time;
            let parts = [("total", total), ("max", max), ("min", min), ("count", count)];
            let parts = parts.into_iter().chain([("avg", time.avg())]);
            parts.map(move |(part, value)| (format!("{name}.{part}"), value))
        });
        statistics.chain(counts).chain(times)
    }

    pub(crate) fn reset_peak(&mut self) {
        self.each().into_iter().for_each(Statistic::reset_peak);
    }

    pub(crate) fn reset_accumulated(&mut self) {
        self.each().into_iter().for_each(Statistic::reset_accumulated);
        (self.num_host_alloc, self.num_host_free) = (0, 0);
    }

    fn each(&mut self) -> [&mut Statistic; 4] {
        let Self { allocations, allocated_bytes, active_requests, active_bytes, .. } = self;
        [allocations, allocated_bytes, active_requests, active_bytes]
    }
}

impl MemoryStats {
    /// A block of so many bytes was handed out.
    #[inline]
    pub(crate) fn count_allocation(&mut self, pool: Pool, bytes: u64, requested: u64) {
        for count in [&mut self.allocation, &mut self.active] {
            count.increase(pool, 1);
        }
        for sum in [&mut self.allocated_bytes, &mut self.active_bytes] {
            sum.increase(pool, bytes);
        }
        self.requested_bytes.increase(pool, requested);
    }

    /// The program has given a block back.
    #[inline]
    pub(crate) fn count_free(&mut self, pool: Pool, bytes: u64) {
        self.allocation.decrease(pool, 1);
        self.allocated_bytes.decrease(pool, bytes);
    }

    /// A block that was given back can be handed out again.
    #[inline]
    pub(crate) fn count_free_completed(&mut self, pool: Pool, bytes: u64, requested: u64) {
        self.active.decrease(pool, 1);
        self.active_bytes.decrease(pool, bytes);
        self.requested_bytes.decrease(pool, requested);
    }

    /// All values under PyTorch's flat names, such as `allocated_bytes.all.peak`.
    ///
    /// `max_split_size` is absent where there is none.
    pub fn entries(&self) -> impl Iterator<Item = (String, u64)> {
        let pools = self.by_pool().into_iter().flat_map(|(name, statistics)| {
            let pools = [
                ("all", statistics.all),
                ("large_pool", statistics.large_pool),
                ("small_pool", statistics.small_pool),
            ];
            pools
                .into_iter()
                .flat_map(move |(pool, statistic)| flat(format!("{name}.{pool}"), statistic))
        });
        let oversize = flat("oversize_allocations".into(), self.oversize_allocations)
            .chain(flat("oversize_segments".into(), self.oversize_segments));
        let counts = [
            ("num_alloc_retries", Some(self.num_alloc_retries)),
            ("num_ooms", Some(self.num_ooms)),
            ("num_oom_rejections", Some(self.num_oom_rejections)),
            ("num_sync_all_streams", Some(self.num_sync_all_streams)),
            ("num_device_alloc", Some(self.num_device_alloc)),
            ("num_device_free", Some(self.num_device_free)),
            ("max_split_size", self.max_split_size),
        ];
        let counts = counts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let private = self.reserved_bytes_by_private_pools.iter();
        let name = |PoolId(id): PoolId| format!("reserved_bytes_by_private_pools.0_{id}");
        let private = private.map(move |(pool, bytes)| (name(*pool), *bytes));
        pools.chain(oversize).chain(counts).chain(private)
    }

    /// Sets every peak to the current value.
    pub(crate) fn reset_peak(&mut self) {
        self.each().for_each(Statistic::reset_peak);
    }

    /// Sets all accumulated values and counts to zero.
    pub(crate) fn reset_accumulated(&mut self) {
        self.each().for_each(Statistic::reset_accumulated);
        (self.num_alloc_retries, self.num_ooms, self.num_sync_all_streams) = (0, 0, 0);
        (self.num_device_alloc, self.num_device_free, self.num_oom_rejections) = (0, 0, 0);
    }

    fn by_pool(&self) -> [(&'static str, &PoolStatistics); 9] {
        [
            ("allocation", &self.allocation),
            ("allocated_bytes", &self.allocated_bytes),
            ("requested_bytes", &self.requested_bytes),
            ("active", &self.active),
            ("active_bytes", &self.active_bytes),
            ("segment", &self.segment),
            ("reserved_bytes", &self.reserved_bytes),
            ("inactive_split", &self.inactive_split),
            ("inactive_split_bytes", &self.inactive_split_bytes),
        ]
    }

    fn each(&mut self) -> impl Iterator<Item = &mut Statistic> {
        [
            &mut self.allocation,
            &mut self.allocated_bytes,
            &mut self.requested_bytes,
            &mut self.active,
            &mut self.active_bytes,
            &mut self.segment,
            &mut self.reserved_bytes,
            &mut self.inactive_split,
            &mut self.inactive_split_bytes,
        ]
        .into_iter()
        .flat_map(PoolStatistics::each)
        .chain([&mut self.oversize_allocations, &mut self.oversize_segments])
    }
}

fn flat(name: String, statistic: Statistic) -> impl Iterator<Item = (String, u64)> {
    statistic.entries().into_iter().map(move |(part, value)| (format!("{name}.{part}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_of_the_sum_is_not_the_sum_of_the_peaks() {
        let mut bytes = PoolStatistics::default();
        bytes.increase(Pool::Small, 3);
        bytes.decrease(Pool::Small, 3);
        bytes.increase(Pool::Large, 5);
        assert_eq!((bytes.small_pool.peak, bytes.large_pool.peak, bytes.all.peak), (3, 5, 5));
    }

    #[test]
    fn resetting_the_peaks_leaves_the_totals_and_the_other_way_round() {
        let mut stats = MemoryStats::default();
        stats.allocated_bytes.increase(Pool::Small, 7);
        stats.allocated_bytes.decrease(Pool::Small, 5);
        stats.reset_peak();
        assert_eq!(
            stats.allocated_bytes.all,
            Statistic { current: 2, peak: 2, allocated: 7, freed: 5 }
        );
        stats.reset_accumulated();
        assert_eq!(
            stats.allocated_bytes.all,
            Statistic { current: 2, peak: 2, allocated: 0, freed: 0 }
        );
    }

    #[test]
    fn durations_are_added_up() {
        let mut time = DurationStatistic::default();
        assert_eq!(time.avg(), 0);
        [7, 3, 5].into_iter().for_each(|micros| time.add(Duration::from_micros(micros)));
        assert_eq!(time, DurationStatistic { total: 15, max: 7, min: 3, count: 3 });
        let stats = HostMemoryStats { host_alloc_time: time, ..HostMemoryStats::default() };
        let entries: BTreeMap<_, _> = stats.entries().collect();
        assert_eq!((entries["host_alloc_time.avg"], entries["host_free_time.count"]), (5, 0));
        assert_eq!(entries.len(), 4 * 4 + 2 + 2 * 5);
    }

    #[test]
    fn entries_have_the_names_that_pytorch_gives_them() {
        let mut stats = MemoryStats::default();
        stats.segment.increase(Pool::Large, 1);
        let entries: std::collections::BTreeMap<_, _> = stats.entries().collect();
        assert_eq!(entries["segment.large_pool.peak"], 1);
        assert_eq!(entries["num_ooms"], 0);
        assert_eq!(entries.len(), 9 * 3 * 4 + 2 * 4 + 6);
        stats.reserved_bytes_by_private_pools.insert(PoolId(7), 20);
        let last = stats.entries().last().expect("there are some");
        assert_eq!(last, ("reserved_bytes_by_private_pools.0_7".to_owned(), 20));
    }
}
