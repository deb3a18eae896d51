//! The caching allocator of page-locked host memory, its limit and its statistics.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Instant;

use gpu_runtime::{HostAllocation, StreamId};

use crate::bytes;
use crate::cache::{Cache, Refused};
use crate::error::{Error, Result};
use crate::policy::{
    Address, DurationStatistic, HostMemoryStats, Limit, MemorySource, Refusal, SizeClasses,
    SourceError,
};

/// The allocator of page-locked memory. Which policy it follows is decided here and nowhere else.
pub(crate) type PinnedCache = Cache<SizeClasses<StreamId>, Limit<PinnedSource>>;

/// Sets the limit for the process: a size in bytes, or with a unit.
const LIMIT_VARIABLE: &str = "SLUICE_PINNED_LIMIT";

static CACHE: OnceLock<PinnedCache> = OnceLock::new();

/// Limits the page-locked memory of this process, in use and cached, to so many bytes.
///
/// The operating system can neither swap out nor otherwise use page-locked memory, so a program
/// that pins too much slows down itself and others. The limit is what the environment variable
/// `SLUICE_PINNED_LIMIT` says, such as `8GiB`, and without it half of the machine's memory. This
/// call replaces it. What is pinned already is not affected.
pub fn set_pinned_limit(bytes: usize) {
    let cache = CACHE.get_or_init(|| new_cache(None));
    cache.lock().source.set_limit(Some(bytes as u64));
}

/// Gives the page-locked memory that is cached back to the operating system.
///
/// It blocks until the copies are done that still use memory which was dropped.
pub fn empty_host_cache() {
    if let Some(cache) = CACHE.get() {
        cache.release_cached();
    }
}

/// What the allocator of page-locked memory has done and holds; all 0 before its first use.
pub fn host_memory_stats() -> HostMemoryStats {
    let Some(cache) = CACHE.get() else { return HostMemoryStats::default() };
    let state = cache.lock();
    let PinnedSource { alloc_time, free_time, .. } = state.source.source();
    HostMemoryStats {
        host_alloc_time: *alloc_time,
        host_free_time: *free_time,
        ..*state.policy.statistics()
    }
}

/// Sets the peaks of [`host_memory_stats`] to the current values.
pub fn reset_peak_host_memory_stats() {
    if let Some(cache) = CACHE.get() {
        cache.lock().policy.reset_peak_statistics();
    }
}

/// The allocator, made at the first call.
pub(crate) fn cache() -> Result<&'static PinnedCache> {
    match CACHE.get() {
        Some(cache) => Ok(cache),
        None => {
            let limit = default_limit()?;
            Ok(CACHE.get_or_init(|| new_cache(limit)))
        }
    }
}

/// Makes the policy's error the crate's.
pub(crate) fn explain(requested: usize, error: Refused<()>) -> Error {
    let report = match error {
        Refused::Source(error) => return Error::Runtime(error),
        Refused::OutOfMemory(report, ()) => report,
    };
    match report.refusal {
        Refusal::Limit(limit) => Error::PinnedLimit {
            requested,
            in_use: (report.allocated + report.pending) as usize,
            limit: limit as usize,
        },
        Refusal::Exhausted => {
            Error::Runtime(gpu_runtime::Error::HostOutOfMemory { bytes: requested })
        }
    }
}

fn new_cache(limit: Option<u64>) -> PinnedCache {
    Cache::new(SizeClasses::new(), Limit::new(PinnedSource::default(), limit), ())
}

fn default_limit() -> Result<Option<u64>> {
    let Some(value) = std::env::var_os(LIMIT_VARIABLE) else {
        return Ok(memory_of_the_machine().map(|bytes| bytes / 2));
    };
    let value = value.to_string_lossy();
    bytes::parse(&value).map(Some).ok_or_else(|| Error::InvalidEnvironment {
        variable: LIMIT_VARIABLE,
        value: value.into_owned(),
        expected: "a number of bytes, or one with a unit: KiB, MiB, GiB, TiB",
    })
}

/// Nothing where the system does not tell.
fn memory_of_the_machine() -> Option<u64> {
    let table = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = table.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The driver's page-locked memory.
#[derive(Debug, Default)]
pub(crate) struct PinnedSource {
    blocks: BTreeMap<Address, HostAllocation>,
    alloc_time: DurationStatistic,
    free_time: DurationStatistic,
}

impl MemorySource for PinnedSource {
    type Error = gpu_runtime::Error;

    fn allocate(&mut self, bytes: u64) -> std::result::Result<Address, SourceError<Self::Error>> {
        let bytes = usize::try_from(bytes).map_err(|_| SourceError::Exhausted)?;
        let begin = Instant::now();
        let block = HostAllocation::new(bytes).map_err(|error| match error {
            gpu_runtime::Error::HostOutOfMemory { .. } => SourceError::Exhausted,
            error => SourceError::Failed(error),
        })?;
        self.alloc_time.add(begin.elapsed());
        let address = Address(block.as_ptr().expose_provenance() as u64);
        self.blocks.insert(address, block);
        Ok(address)
    }

    fn release(&mut self, address: Address, _bytes: u64) {
        let begin = Instant::now();
        self.blocks.remove(&address);
        self.free_time.add(begin.elapsed());
    }
}
