//! Caching allocators of host memory, over segments of one kind.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Debug;
use std::fs;
use std::time::Instant;

use gpu_runtime::StreamId;

use crate::cache::{AllocFailure, CachingAllocator, WholeState};
use crate::error::{Error, Result};
use crate::observers::AllocationTracker;
use crate::observers::CallSite;
use crate::observers::HeapState;
use crate::observers::history;
use crate::policy::{
    Address, BestFit, DurationStatistic, HostMemoryStats, Limit, Log, MemorySource,
    OutOfMemoryReport, Refusal, SourceError,
};
use crate::sizes;

/// A piece of host memory from the system, which goes back when it is dropped.
pub(crate) trait HostSegment: Sized + Debug + Send {
    /// Memory of so many bytes.
    ///
    /// # Errors
    /// The system has none, or it failed.
    fn allocate(bytes: usize) -> std::result::Result<Self, SourceError<gpu_runtime::Error>>;

    /// The address of the first byte.
    fn address(&self) -> Address;
}

/// The system's memory, of one kind.
#[derive(Debug)]
pub(crate) struct HostSegmentSource<A> {
    segments: BTreeMap<Address, A>,
    /// The memory that there is, if the system tells.
    most: Option<u64>,
    alloc_time: DurationStatistic,
    free_time: DurationStatistic,
}

/// The allocator of one kind of host memory. Which policy it follows is decided here and nowhere
/// else.
pub(crate) type HostAllocator<A> =
    CachingAllocator<BestFit<StreamId>, Log<Limit<HostSegmentSource<A>>>, AllocationTracker>;

/// The state of such an allocator, with nothing lent.
pub(crate) type WholeHostState<'a, A> =
    WholeState<'a, BestFit<StreamId>, Log<Limit<HostSegmentSource<A>>>, AllocationTracker>;

impl<A> HostSegmentSource<A> {
    fn new() -> HostSegmentSource<A> {
        HostSegmentSource {
            segments: BTreeMap::new(),
            most: memory_of_the_machine(),
            alloc_time: DurationStatistic::default(),
            free_time: DurationStatistic::default(),
        }
    }
}

impl<A: HostSegment> MemorySource for HostSegmentSource<A> {
    type Error = gpu_runtime::Error;

    fn allocate(&mut self, bytes: u64) -> std::result::Result<Address, SourceError<Self::Error>> {
        let bytes = usize::try_from(bytes).map_err(|_| SourceError::Exhausted)?;
        let begin = Instant::now();
        let segment = A::allocate(bytes)?;
        self.alloc_time.add(begin.elapsed());
        let address = segment.address();
        self.segments.insert(address, segment);
        Ok(address)
    }

    fn could_hold(&mut self, bytes: u64) -> std::result::Result<(), Refusal> {
        if self.most.is_some_and(|most| bytes > most) { Err(Refusal::Exhausted) } else { Ok(()) }
    }

    fn release(&mut self, address: Address, _bytes: u64) {
        let begin = Instant::now();
        self.segments.remove(&address);
        self.free_time.add(begin.elapsed());
    }
}

/// An allocator with this limit on what it has from the system.
pub(crate) fn with_limit<A: HostSegment>(limit: Option<u64>) -> HostAllocator<A> {
    let policy = BestFit::new();
    let mut tracker = AllocationTracker::default();
    tracker.record(*history::setting(), &policy);
    CachingAllocator::new(policy, Log::new(Limit::new(HostSegmentSource::new(), limit)), tracker)
}

/// The policy's statistics, with the times that only the source can measure.
pub(crate) fn complete<A: HostSegment>(whole: &WholeHostState<'_, A>) -> HostMemoryStats {
    let HostSegmentSource { alloc_time, free_time, .. } = whole.source.source().source();
    HostMemoryStats {
        host_alloc_time: *alloc_time,
        host_free_time: *free_time,
        ..*whole.policy.statistics()
    }
}

/// Sets the totals, the counts and the times of an allocator's statistics to 0.
pub(crate) fn reset_accumulated<A: HostSegment>(allocator: &HostAllocator<A>) {
    allocator.with_whole(|whole| {
        whole.policy.reset_accumulated_statistics();
        let source = whole.source.source_mut().source_mut();
        (source.alloc_time, source.free_time) = Default::default();
    });
}

/// Makes the policy's error the crate's, and writes it down. `at_limit` is the error at a limit of
/// so many bytes.
pub(crate) fn explain<A: HostSegment>(
    allocator: &HostAllocator<A>,
    requested: usize,
    call_site: CallSite,
    error: AllocFailure<HeapState>,
    at_limit: fn(&OutOfMemoryReport, usize, u64) -> Error,
) -> Error {
    let (report, heap) = match error {
        AllocFailure::Source(error) => return error.into(),
        AllocFailure::Misplaced(error) => return error.into(),
        AllocFailure::OutOfMemory(report, heap) => (report, heap),
    };
    let error = match report.certificate.denial().refusal {
        Refusal::Limit(limit) => at_limit(&report, requested, limit),
        Refusal::Exhausted => {
            Error::Runtime(gpu_runtime::Error::HostOutOfMemory { bytes: requested })
        }
    };
    allocator.with_whole(|whole| {
        let limit = whole.source.source().limit();
        let left = limit.map_or(0, |limit| limit.saturating_sub(report.reserved));
        if let Some(recorder) = whole.observer.recorder() {
            recorder.refused((requested as u64, left), None, call_site, (error.to_string(), heap));
        }
    });
    error
}

/// The limit that the value of an environment variable sets; `None` if it is not set.
///
/// # Errors
/// It is no size.
pub(crate) fn limit_of(variable: &'static str, value: Option<OsString>) -> Result<Option<u64>> {
    let Some(value) = value else { return Ok(None) };
    let value = value.to_string_lossy();
    sizes::parse(&value).map(Some).ok_or_else(|| Error::InvalidEnvironment {
        variable,
        value: value.into_owned(),
        expected: "a number of bytes, or one with a unit: KiB, MiB, GiB, TiB",
    })
}

/// The bytes of memory that the machine has; `None` where the system does not tell.
pub(crate) fn memory_of_the_machine() -> Option<u64> {
    let table = fs::read_to_string("/proc/meminfo").ok()?;
    let total = table.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
