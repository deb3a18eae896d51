//! Why a request was refused, and what may help.

use std::fmt;

use super::OutOfMemory;
use crate::policy::Retention;

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The device could never hold it, or the program holds too much of it.
    Capacity,
    /// The process may not take more from the device.
    Limit,
    /// The program's own [source of memory](crate::set_memory_source) gives no more, though the device
    /// has some.
    Source,
    /// Enough is free, but in pieces that the request cannot use.
    Fragmentation,
    /// Enough was freed, but work still uses it.
    Pending,
    /// Graphs or pools keep what would be needed, whether or not anybody holds it: see
    /// [`OutOfMemory::kept`].
    Pools,
    /// Others hold what would be needed: other programs, or this one outside of the allocator.
    OtherProcesses,
}

/// Advice against running out of memory, according to where the memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// The process may not take more from the device: raise its limit.
    RaiseLimit,
    /// The program's own source gives no more: let it give more.
    EnlargeSource,
    /// Even if the program held nothing, there would be too little: split the request.
    SplitRequest,
    /// Work on other streams still uses enough memory that was freed: wait for it.
    Synchronize,
    /// Enough memory is free, but kept for other streams.
    ShareStreams,
    /// Enough memory is free, but in pieces between blocks that are in use.
    Defragment,
    /// Enough memory is unused, and the options have the request refused before it is given back: give
    /// it back.
    EmptyCache,
    /// Graphs or pools keep the memory: drop those graphs, or end those pools.
    EndPools,
    /// Others hold more than this program's allocator does, or leave too little for the request: other
    /// programs, or this one outside of the allocator.
    FreeElsewhere,
    /// The program itself holds too much.
    HoldLess,
}

impl OutOfMemory {
    /// The things that may help.
    pub fn advice(&self) -> Advice {
        match self.cause {
            Cause::Capacity if self.is_too_large() => Advice::SplitRequest,
            Cause::Capacity => Advice::HoldLess,
            Cause::Limit if self.would_fit_without_cache() => Advice::EmptyCache,
            Cause::Limit => Advice::RaiseLimit,
            Cause::Source => Advice::EnlargeSource,
            Cause::Fragmentation if self.cached_for_other_streams >= self.requested => {
                Advice::ShareStreams
            }
            Cause::Fragmentation => Advice::Defragment,
            Cause::Pending => Advice::Synchronize,
            Cause::Pools => Advice::EndPools,
            Cause::OtherProcesses => Advice::FreeElsewhere,
        }
    }

    /// Whether nothing was tried, and to give the cache back would have been enough.
    fn would_fit_without_cache(&self) -> bool {
        let unused =
            self.certificate.retained(Retention::None) + self.certificate.retained(Retention::Work);
        let kept = (self.reserved as u64).saturating_sub(unused);
        let limit = self.limit.unwrap_or(usize::MAX) as u64;
        self.certificate.denial().is_rejection() && kept.saturating_add(self.needed as u64) <= limit
    }

    /// The thing that the program may do instead.
    pub(super) fn alternative(&self) -> &'static str {
        match self.advice() {
            Advice::RaiseLimit | Advice::EnlargeSource | Advice::FreeElsewhere => {
                if self.is_too_large() {
                    ", or work on smaller parts"
                } else {
                    ", or hold less at a time"
                }
            }
            _ => "",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Capacity => "the device's capacity",
            Cause::Limit => "this process's limit",
            Cause::Source => "the program's own source of memory",
            Cause::Fragmentation => "fragmentation",
            Cause::Pending => "freed memory that is still in use",
            Cause::Pools => "memory that is kept for graphs or pools",
            Cause::OtherProcesses => "memory that others use",
        })
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Advice::RaiseLimit => "Raise the limit with set_per_process_memory_fraction()",
            Advice::EnlargeSource => {
                "Let the source give more that the program set with set_memory_source()"
            }
            Advice::SplitRequest => "Releasing memory would not help: work on smaller parts",
            Advice::Synchronize => "Synchronize the streams that use freed memory, then try again",
            Advice::ShareStreams => {
                "Enough is cached for other streams: allocate on those, or on fewer streams"
            }
            Advice::Defragment => {
                "Enough is free, but in pieces: allocate the large and lasting things first, and \
                 keep sizes alike"
            }
            Advice::EmptyCache => "Give the unused memory back with empty_cache(), then try again",
            Advice::EndPools => {
                "Drop graphs that are not launched any more, or memory pools, that keep it"
            }
            Advice::FreeElsewhere => "Look for other programs on the device",
            Advice::HoldLess => {
                "Hold less at a time: smaller batches, and no longer than they are needed"
            }
        })
    }
}
