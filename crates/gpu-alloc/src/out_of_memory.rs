//! What an out-of-memory error tells: the request, the state of the memory, and what may help.

use std::fmt;

use gpu_runtime::{Device, MemoryInfo};

use crate::bytes::Bytes;
use crate::policy::{OutOfMemoryReport, Refusal};

/// A request that a device's memory could not serve, also after all unused memory was given back to
/// the driver and the host had waited for memory that was freed but still in use. All sizes are in
/// bytes.
///
/// The program may free memory and go on: the allocator is as it was, but for the unused memory
/// that it gave back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct OutOfMemory {
    /// The device.
    pub device: Device,
    /// What was asked for.
    pub requested: usize,
    /// The device's memory.
    pub total: usize,
    /// What the driver has left; it may be in pieces.
    pub free: usize,
    /// What this process may take from the driver, where that is what was exceeded.
    pub limit: Option<usize>,
    /// What the program holds.
    pub allocated: usize,
    /// What the allocator has taken from the driver.
    pub reserved: usize,
    /// What the program has freed, and work on other streams still uses.
    pub pending: usize,
    /// The largest block that the request could have got, had it been smaller.
    pub largest_free_block: usize,
    /// What is kept for requests on other streams.
    pub cached_for_other_streams: usize,
    /// What is kept for graphs: their work uses it, though nobody holds it.
    pub kept_for_graphs: usize,
}

/// What may help against running out of memory, according to where the memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// The process may not take more from the device: raise its limit.
    RaiseLimit,
    /// The device could never hold it: split the request.
    SplitRequest,
    /// Work on other streams still uses enough memory that was freed: wait for it.
    Synchronize,
    /// Enough memory is free, but kept for other streams.
    ShareStreams,
    /// Enough memory is free, but in pieces between blocks that are in use.
    Defragment,
    /// Others hold more than this program's allocator does: other programs, or this one outside of
    /// the allocator.
    FreeElsewhere,
    /// The program itself holds too much.
    HoldLess,
}

impl OutOfMemory {
    pub(crate) fn new(device: Device, memory: MemoryInfo, report: &OutOfMemoryReport) -> Self {
        OutOfMemory {
            device,
            requested: bytes(report.requested),
            total: memory.total,
            free: memory.free,
            limit: match report.refusal {
                Refusal::Exhausted => None,
                Refusal::Limit(limit) => Some(bytes(limit)),
            },
            allocated: bytes(report.allocated),
            reserved: bytes(report.reserved),
            pending: bytes(report.pending),
            largest_free_block: bytes(report.largest_free_block),
            cached_for_other_streams: bytes(report.cached_for_other_streams),
            kept_for_graphs: bytes(report.kept_for_graphs),
        }
    }

    /// What is free, but cannot serve the request.
    pub fn cached(&self) -> usize {
        self.reserved.saturating_sub(self.allocated + self.pending + self.kept_for_graphs)
    }

    /// What others hold on the device: other programs, and this one outside of the allocator.
    pub fn elsewhere(&self) -> usize {
        self.total.saturating_sub(self.free + self.reserved)
    }

    /// What may help.
    pub fn advice(&self) -> Advice {
        if self.requested > self.total {
            Advice::SplitRequest
        } else if self.pending >= self.requested {
            Advice::Synchronize
        } else if self.cached_for_other_streams >= self.requested {
            Advice::ShareStreams
        } else if self.cached() >= self.requested {
            Advice::Defragment
        } else if self.limit.is_some() {
            Advice::RaiseLimit
        } else if self.elsewhere() > self.reserved {
            Advice::FreeElsewhere
        } else {
            Advice::HoldLess
        }
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |bytes: usize| Bytes(bytes as u64);
        write!(
            f,
            "{} is out of memory: {} were asked for, and of its {} the driver has {} left",
            self.device,
            size(self.requested),
            size(self.total),
            size(self.free)
        )?;
        if let Some(limit) = self.limit {
            write!(f, " (this process may take {})", size(limit))?;
        }
        write!(f, ". The program holds {}", size(self.allocated))?;
        if self.pending > 0 {
            write!(f, ", work on other streams still uses {} that were freed", size(self.pending))?;
        }
        if self.kept_for_graphs > 0 {
            write!(f, ", {} are kept for graphs", size(self.kept_for_graphs))?;
        }
        if self.cached() > 0 {
            write!(f, ", {} are cached in pieces, ", size(self.cached()))?;
            match self.largest_free_block {
                0 => write!(f, "none of them for such a request")?,
                largest => write!(f, "the largest one for such a request {}", size(largest))?,
            }
        }
        write!(f, "; others hold {}. {}.", size(self.elsewhere()), self.advice())
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Advice::RaiseLimit => {
                "Raise the limit with set_per_process_memory_fraction(), or hold less at a time"
            }
            Advice::SplitRequest => "The device could never hold it: work on smaller parts",
            Advice::Synchronize => "Synchronize the streams that use freed memory, then try again",
            Advice::ShareStreams => {
                "Enough is cached for other streams: allocate on those, or on fewer streams"
            }
            Advice::Defragment => {
                "Enough is free, but in pieces: allocate the large and lasting things first, and \
                 keep sizes alike"
            }
            Advice::FreeElsewhere => "Look for other programs on the device",
            Advice::HoldLess => {
                "Hold less at a time: smaller batches, and no longer than they are needed"
            }
        })
    }
}

/// A size as the host counts it; none that was asked for is too large for that.
fn bytes(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
