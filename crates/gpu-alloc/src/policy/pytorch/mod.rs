//! Device memory as PyTorch's allocator keeps it: segments by pool and stream, or pages mapped in a
//! row; split and merged, best fit.

mod certificate;
mod expandable;
mod free_set;
mod grow;
mod heap;
mod options;
mod policy;
mod pools;
mod range;
mod release;
mod size;
mod snapshot;

use self::expandable::ExpandableSegments;
use self::heap::BlockHeap;
pub use self::options::{OptionsError, PytorchOptions};
use self::pools::LivingPools;
use self::size::Sizes;
use super::pending::PendingFrees;
use super::segment_accounts::SegmentAccounts;
use super::{MemoryStats, StreamName};

/// PyTorch's policy, with its options.
///
/// Requests are rounded to 512 bytes. Those up to 1 MiB share segments of 2 MiB, those below 10 MiB
/// segments of 20 MiB, and larger ones get segments of their own, in multiples of 2 MiB. A request
/// takes the smallest free block of its stream that fits, at the lowest address among equals; what
/// is left over is split off and stays free. A freed block merges with free neighbours of the same
/// segment, so two neighbours are never both free.
///
/// A block waits, after it was freed, for its uses on other streams. Its uses on its own stream
/// hold nothing back, as whoever gets it next comes later in the same queue; a segment waits for
/// them before it is released.
///
/// Pools keep memory apart for graphs
/// ([`StreamAndPool::pool`](crate::policy::StreamAndPool::pool)): it serves nobody else, and is not
/// given back before [`end_pool`](crate::policy::Policy::end_pool), since a graph uses it whether or
/// not anybody holds it.
///
/// With expandable segments, each stream has a range of addresses for small requests and one for
/// large ones, each larger than the device, into which pages are mapped as they are needed: of 2 MiB
/// for small requests, of 20 MiB for large ones. Free memory then merges across what would have been
/// the ends of segments, and whole pages are given back out of the middle. Where a source has no
/// virtual memory, there are plain segments, and the log says so.
#[derive(Debug)]
pub struct Pytorch<K> {
    sizes: Sizes,
    heap: BlockHeap<K>,
    /// The expandable segments, if memory is mapped page by page.
    expandable: Option<ExpandableSegments>,
    pending: PendingFrees<K>,
    pools: LivingPools,
    accounts: SegmentAccounts,
    /// The bytes that may be taken from the source, as far as it was told.
    memory_limit: Option<u64>,
}

impl<K: StreamName> Pytorch<K> {
    /// A policy that has no memory yet, with PyTorch's defaults.
    pub fn new() -> Self {
        Self::with_options(PytorchOptions::default(), 0)
    }

    /// A policy that has no memory yet. `device_bytes` is what the device has in all; it matters
    /// only with expandable segments, whose ranges of addresses are so large and an eighth larger.
    pub fn with_options(options: PytorchOptions, device_bytes: u64) -> Self {
        let sizes = Sizes::new(options);
        let is_expandable = sizes.options().expandable_segments();
        let accounts = SegmentAccounts::new(sizes.options().max_split_size());
        Pytorch {
            sizes,
            heap: BlockHeap::default(),
            expandable: is_expandable.then(|| ExpandableSegments::new(device_bytes)),
            pending: PendingFrees::default(),
            pools: LivingPools::default(),
            accounts,
            memory_limit: None,
        }
    }

    /// Tells how much may be taken from the source, if there is a limit. The source sees to it that
    /// no more is. The policy collects old segments before that, if its options say so; and with
    /// expandable segments it refuses a request, as PyTorch does, whose whole segment would exceed
    /// the limit, where the source would not refuse before some pages were mapped.
    pub fn set_memory_limit(&mut self, limit: Option<u64>) {
        self.memory_limit = limit;
    }

    /// Its statistics.
    pub fn statistics(&self) -> &MemoryStats {
        self.accounts.statistics()
    }

    /// Sets every peak to the current value.
    pub fn reset_peak_statistics(&mut self) {
        self.accounts.reset_peak();
    }

    /// Sets the totals of what was added and taken away, and all counts, to zero.
    pub fn reset_accumulated_statistics(&mut self) {
        self.accounts.reset_accumulated();
    }
}

impl<K: StreamName> Default for Pytorch<K> {
    fn default() -> Self {
        Self::new()
    }
}
