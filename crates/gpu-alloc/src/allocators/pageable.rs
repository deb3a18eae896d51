//! The caching allocator of pageable host memory, its limit and its statistics.

use std::env;
use std::sync::OnceLock;
use std::time::Duration;

use memmap2::{Advice, MmapMut};

use super::host::{self, HostAllocator, HostSegment, memory_of_the_machine};
use crate::cache::AllocFailure;
use crate::error::{Error, Result};
use crate::observers::{CallSite, HeapState};
use crate::policy::{Address, HostMemoryStats, SourceError};

/// The allocator of pageable memory.
pub(crate) type PageableAllocator = HostAllocator<PageableSegment>;

/// Sets the limit for the process: a size in bytes, or with a unit.
const LIMIT_VARIABLE: &str = "SLUICE_PAGEABLE_LIMIT";

/// The part of the machine's memory that may be cached unless the program says otherwise.
const CACHED_PART: u64 = 4;

static ALLOCATOR: OnceLock<PageableAllocator> = OnceLock::new();

/// Limits the pageable memory of this process that this crate hands out or caches, to so many
/// bytes.
///
/// Without a limit the system hands out more memory than there is, and ends the process when that
/// is used; with one, a request beyond it is an error, which names what is held. The limit is what
/// the environment variable `SLUICE_PAGEABLE_LIMIT` says, such as `8GiB`, and without it there is
/// none. This call replaces it. What is allocated already is not affected.
pub fn set_pageable_limit(bytes: usize) {
    let allocator = allocator_with_limit(None);
    allocator.with_whole(|whole| whole.source.source_mut().set_limit(Some(bytes as u64)));
}

/// Limits the pageable memory that is cached, hence of no use to anybody, to so many bytes: to a
/// quarter of the machine's memory without this call.
///
/// What is too much goes back when more is taken from the system, and with
/// [`trim_pageable_cache`]. Gaps between memory that is held are not counted; they cannot go.
///
/// # Errors
/// [`Error::InvalidEnvironment`] if `SLUICE_PAGEABLE_LIMIT` is no size.
pub fn set_pageable_cache_limit(bytes: usize) -> Result<()> {
    allocator()?.with_whole(|whole| whole.policy.set_keep(bytes as u64));
    Ok(())
}

/// Gives the pageable memory that is cached back to the system.
pub fn empty_pageable_cache() {
    if let Some(allocator) = ALLOCATOR.get() {
        allocator.release_cached();
    }
}

/// Gives back the pageable memory that nobody has used for as long as `idle`, and what exceeds
/// [`set_pageable_cache_limit`]; returns the bytes. Memory counts as unused from the first call that
/// finds it so.
pub fn trim_pageable_cache(idle: Duration) -> usize {
    ALLOCATOR.get().map_or(0, |allocator| allocator.trim(idle)) as usize
}

/// The statistics of pageable memory, under the names of those of page-locked memory; all 0 before
/// its first use.
pub fn pageable_memory_stats() -> HostMemoryStats {
    let Some(allocator) = ALLOCATOR.get() else { return HostMemoryStats::default() };
    allocator.with_whole(|whole| host::complete(&whole))
}

/// Sets the peaks of [`pageable_memory_stats`] to the current values.
pub fn reset_peak_pageable_memory_stats() {
    if let Some(allocator) = ALLOCATOR.get() {
        allocator.with_whole(|whole| whole.policy.reset_peak_statistics());
    }
}

/// Sets the totals of what was allocated and freed in [`pageable_memory_stats`], the counts and the
/// times to 0.
pub fn reset_accumulated_pageable_memory_stats() {
    if let Some(allocator) = ALLOCATOR.get() {
        host::reset_accumulated(allocator);
    }
}

/// The allocator, made at the first call.
pub(crate) fn allocator() -> Result<&'static PageableAllocator> {
    match ALLOCATOR.get() {
        Some(allocator) => Ok(allocator),
        None => {
            let limit = host::limit_of(LIMIT_VARIABLE, env::var_os(LIMIT_VARIABLE))?;
            Ok(allocator_with_limit(limit))
        }
    }
}

/// Makes the policy's error the crate's, and writes it down.
pub(crate) fn explain(
    allocator: &PageableAllocator,
    requested: usize,
    call_site: CallSite,
    error: AllocFailure<HeapState>,
) -> Error {
    host::explain(allocator, requested, call_site, error, |report, requested, limit| {
        Error::PageableLimit {
            requested,
            in_use: report.allocated as usize,
            reserved: report.reserved as usize,
            limit: limit as usize,
        }
    })
}

/// The allocator, made with this limit if there was none.
fn allocator_with_limit(limit: Option<u64>) -> &'static PageableAllocator {
    ALLOCATOR.get_or_init(|| {
        let allocator = host::with_limit(limit);
        if let Some(memory) = memory_of_the_machine() {
            allocator.with_whole(|whole| whole.policy.set_keep(memory / CACHED_PART));
        }
        allocator
    })
}

/// The size of a huge page of x86-64 and of most other processors.
const HUGE_PAGE: usize = 2 << 20;

/// Anonymous memory of the system. Segments of a huge page and more begin at a multiple of its
/// size, and the system is asked for huge pages there: a page fault for each 4 KiB takes longer than
/// most operations take for them.
#[derive(Debug)]
pub(crate) struct PageableSegment {
    _mapping: MmapMut,
    address: Address,
}

impl HostSegment for PageableSegment {
    fn allocate(bytes: usize) -> std::result::Result<Self, SourceError<gpu_runtime::Error>> {
        let alignment = if bytes >= HUGE_PAGE { HUGE_PAGE } else { 1 };
        // What alignment leaves over at either end is never touched, so it is no memory.
        let size = bytes.checked_add(alignment - 1).ok_or(SourceError::Exhausted)?;
        let mut mapping = MmapMut::map_anon(size).map_err(|_| SourceError::Exhausted)?;
        let start = mapping.as_mut_ptr().expose_provenance();
        let aligned = start.next_multiple_of(alignment);
        if alignment == HUGE_PAGE {
            // Without huge pages it is as good, only slower.
            let _refused = mapping.advise_range(Advice::HugePage, aligned - start, bytes);
        }
        Ok(PageableSegment { _mapping: mapping, address: Address(aligned as u64) })
    }

    fn address(&self) -> Address {
        self.address
    }
}
