//! The caching allocator of page-locked host memory, its limit and its statistics.

use std::env;
use std::sync::OnceLock;
use std::time::Duration;

use gpu_runtime::{HostAllocation, tell_what_is_cached};

use super::host::{self, HostAllocator, HostSegment, memory_of_the_machine};
use crate::cache::AllocFailure;
use crate::error::{Error, Result};
use crate::observers::CallSite;
use crate::observers::HeapState;
use crate::policy::{Address, HostMemoryStats, SourceError};

/// The allocator of page-locked memory.
pub(crate) type PinnedAllocator = HostAllocator<HostAllocation>;

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
    allocator.with_whole(|whole| host::complete(&whole))
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
        host::reset_accumulated(allocator);
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
    host::explain(allocator, requested, call_site, error, |report, requested, limit| {
        Error::PinnedLimit {
            requested,
            in_use: (report.allocated + report.pending) as usize,
            pinned: report.reserved as usize,
            limit: limit as usize,
        }
    })
}

/// The allocator, made with this limit if there was none.
fn allocator_with_limit(limit: Option<u64>) -> &'static PinnedAllocator {
    ALLOCATOR.get_or_init(|| {
        tell_what_is_cached(|cached| {
            if let Some(allocator) = ALLOCATOR.get() {
                allocator.tell_cached(cached);
            }
        });
        host::with_limit(limit)
    })
}

fn default_limit() -> Result<Option<u64>> {
    let limit = host::limit_of(LIMIT_VARIABLE, env::var_os(LIMIT_VARIABLE))?;
    Ok(limit.or_else(|| memory_of_the_machine().map(|bytes| bytes / 2)))
}

impl HostSegment for HostAllocation {
    fn allocate(bytes: usize) -> std::result::Result<Self, SourceError<gpu_runtime::Error>> {
        HostAllocation::new(bytes).map_err(|error| match error {
            gpu_runtime::Error::HostOutOfMemory { .. } => SourceError::Exhausted,
            error => SourceError::Failed(error),
        })
    }

    fn address(&self) -> Address {
        Address(self.as_ptr().expose_provenance() as u64)
    }
}
