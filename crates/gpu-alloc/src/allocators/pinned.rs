//! The caching allocator of page-locked host memory, its limit and its statistics.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use gpu_runtime::{HostAllocation, StreamId, tell_what_is_cached};

use crate::cache::{AllocFailure, CachingAllocator, WholeState};
use crate::error::{Error, Result};
use crate::observers::CallSite;
use crate::observers::history;
use crate::observers::{AllocationTracker, HeapState};
use crate::policy::{
    Address, BestFit, DurationStatistic, HostMemoryStats, Limit, Log, MemorySource, Refusal,
    SourceError,
};
use crate::sizes;

/// The allocator of page-locked memory. Which policy it follows is decided here and nowhere else.
pub(crate) type PinnedAllocator =
    CachingAllocator<BestFit<StreamId>, Log<Limit<PinnedSource>>, AllocationTracker>;

/// Sets the limit for the process: a size in bytes, or with a unit.
const LIMIT_VARIABLE: &str = "SLUICE_PINNED_LIMIT";

static ALLOCATOR: OnceLock<PinnedAllocator> = OnceLock::new();

/// Limits the page-locked memory of this process, in use and cached, to so many bytes.
///
/// The operating system can neither swap out nor otherwise use page-locked memory, so a program
/// that pins too much slows down itself and others. The limit is what the environment variable
/// `SLUICE_PINNED_LIMIT` says, such as `8GiB`, and without it half of the machine's memory. This
/// call replaces it. What is pinned already is not affected.
pub fn set_pinned_limit(bytes: usize) {
    let allocator = allocator_with_limit(None);
    allocator.with_whole(|whole| whole.source.source_mut().set_limit(Some(bytes as u64)));
}

/// Limits the page-locked memory that is cached, hence of no use to anybody, to so many bytes.
///
/// Without it, all that was dropped is kept for later requests. A drop gives nothing back, as that
/// would wait for all devices: what is too much goes when more memory is page-locked, and with
/// [`trim_host_cache`]. Gaps between memory that is held are not counted; they cannot go.
///
/// # Errors
/// [`Error::InvalidEnvironment`] if `SLUICE_PINNED_LIMIT` is no size.
pub fn set_pinned_cache_limit(bytes: usize) -> Result<()> {
    allocator()?.with_whole(|whole| whole.policy.set_keep(bytes as u64));
    Ok(())
}

/// Gives the page-locked memory that is cached back to the operating system.
///
/// It blocks until the copies are done that still use memory which was dropped.
pub fn empty_host_cache() {
    if let Some(allocator) = ALLOCATOR.get() {
        allocator.release_cached();
    }
}

/// Gives back the page-locked memory that nobody has used for as long as `idle`, and what exceeds
/// [`set_pinned_cache_limit`]; returns the bytes.
///
/// It is for a program to call now and then, such as once in an epoch. Memory counts as unused from
/// the first call that finds it so. What copies still use stays, and is not waited for; the driver
/// may wait for all devices when memory goes back.
///
/// ```
/// use std::time::Duration;
///
/// use gpu_runtime::DriverChoice;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(1) })?;
/// drop(gpu_alloc::allocate_pinned(3 << 20)?);
/// assert_eq!(gpu_alloc::trim_host_cache(Duration::from_secs(600)), 0);
/// assert_eq!(gpu_alloc::trim_host_cache(Duration::ZERO), 3 << 20);
/// # Ok(())
/// # }
/// ```
pub fn trim_host_cache(idle: Duration) -> usize {
    ALLOCATOR.get().map_or(0, |allocator| allocator.trim(idle)) as usize
}

/// The statistics of page-locked memory; all 0 before its first use.
pub fn host_memory_stats() -> HostMemoryStats {
    let Some(allocator) = ALLOCATOR.get() else { return HostMemoryStats::default() };
    allocator.with_whole(|whole| complete(&whole))
}

/// The policy's statistics, with the times that only the source can measure.
pub(crate) fn complete(
    whole: &WholeState<'_, BestFit<StreamId>, Log<Limit<PinnedSource>>, AllocationTracker>,
) -> HostMemoryStats {
    let PinnedSource { alloc_time, free_time, .. } = whole.source.source().source();
    HostMemoryStats {
        host_alloc_time: *alloc_time,
        host_free_time: *free_time,
        ..*whole.policy.statistics()
    }
}

/// Sets the peaks of [`host_memory_stats`] to the current values.
pub fn reset_peak_host_memory_stats() {
    if let Some(allocator) = ALLOCATOR.get() {
        allocator.with_whole(|whole| whole.policy.reset_peak_statistics());
    }
}

/// Sets the totals of what was allocated and freed in [`host_memory_stats`], the counts and the
/// times to 0.
pub fn reset_accumulated_host_memory_stats() {
    if let Some(allocator) = ALLOCATOR.get() {
        allocator.with_whole(|whole| {
            whole.policy.reset_accumulated_statistics();
            let source = whole.source.source_mut().source_mut();
            (source.alloc_time, source.free_time) = Default::default();
        });
    }
}

/// The allocator, made at the first call.
pub(crate) fn allocator() -> Result<&'static PinnedAllocator> {
    match ALLOCATOR.get() {
        Some(allocator) => Ok(allocator),
        None => {
            let limit = default_limit()?;
            Ok(allocator_with_limit(limit))
        }
    }
}

/// The allocator, if it was used.
pub(crate) fn allocator_in_use() -> Option<&'static PinnedAllocator> {
    ALLOCATOR.get()
}

/// Makes the policy's error the crate's, and writes it down.
pub(crate) fn explain(
    allocator: &PinnedAllocator,
    requested: usize,
    call_site: CallSite,
    error: AllocFailure<HeapState>,
) -> Error {
    let (report, heap) = match error {
        AllocFailure::Source(error) => return error.into(),
        AllocFailure::Misplaced(error) => return error.into(),
        AllocFailure::OutOfMemory(report, heap) => (report, heap),
    };
    let error = match report.certificate.denial().refusal {
        Refusal::Limit(limit) => Error::PinnedLimit {
            requested,
            in_use: (report.allocated + report.pending) as usize,
            pinned: report.reserved as usize,
            limit: limit as usize,
        },
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

/// The allocator, made with this limit if there was none.
fn allocator_with_limit(limit: Option<u64>) -> &'static PinnedAllocator {
    let history = history::setting();
    ALLOCATOR.get_or_init(|| {
        let policy = BestFit::new();
        let mut tracker = AllocationTracker::default();
        tracker.record(*history, &policy);
        let source = PinnedSource { most: memory_of_the_machine(), ..PinnedSource::default() };
        tell_what_is_cached(|cached| {
            if let Some(allocator) = ALLOCATOR.get() {
                allocator.tell_cached(cached);
            }
        });
        CachingAllocator::new(policy, Log::new(Limit::new(source, limit)), tracker)
    })
}

fn default_limit() -> Result<Option<u64>> {
    let Some(value) = std::env::var_os(LIMIT_VARIABLE) else {
        return Ok(memory_of_the_machine().map(|bytes| bytes / 2));
    };
    let value = value.to_string_lossy();
    sizes::parse(&value).map(Some).ok_or_else(|| Error::InvalidEnvironment {
        variable: LIMIT_VARIABLE,
        value: value.into_owned(),
        expected: "a number of bytes, or one with a unit: KiB, MiB, GiB, TiB",
    })
}

/// The bytes of memory that the machine has; `None` where the system does not tell.
fn memory_of_the_machine() -> Option<u64> {
    let table = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = table.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The driver's page-locked memory.
#[derive(Debug, Default)]
pub(crate) struct PinnedSource {
    segments: BTreeMap<Address, HostAllocation>,
    /// The memory that there is, if the system tells.
    most: Option<u64>,
    alloc_time: DurationStatistic,
    free_time: DurationStatistic,
}

impl MemorySource for PinnedSource {
    type Error = gpu_runtime::Error;

    fn allocate(&mut self, bytes: u64) -> std::result::Result<Address, SourceError<Self::Error>> {
        let bytes = usize::try_from(bytes).map_err(|_| SourceError::Exhausted)?;
        let begin = Instant::now();
        let segment = HostAllocation::new(bytes).map_err(|error| match error {
            gpu_runtime::Error::HostOutOfMemory { .. } => SourceError::Exhausted,
            error => SourceError::Failed(error),
        })?;
        self.alloc_time.add(begin.elapsed());
        let address = Address(segment.as_ptr().expose_provenance() as u64);
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
