//! A piece of pageable host memory, and how to get one.

use std::panic::Location;
use std::ptr;

use gpu_runtime::outermost_place;

use crate::allocators::pageable::{self, PageableAllocator};
use crate::cache::ServedBlock;
use crate::error::Result;
use crate::observers::{CallSite, Tag};
use crate::policy::Block;

/// Allocates `bytes` of ordinary host memory, aligned to at least 64 bytes, not initialised. 0 bytes
/// are a null pointer.
///
/// It takes cached memory if some fits, whose pages the system need not provide any more. It needs
/// no driver, and waits for nothing.
///
/// # Errors
/// [`Error::PageableLimit`](crate::Error::PageableLimit) at the limit of
/// [`set_pageable_limit`](crate::set_pageable_limit),
/// [`Error::InvalidEnvironment`](crate::Error::InvalidEnvironment) if `SLUICE_PAGEABLE_LIMIT` is no
/// size, and [`Error::Runtime`](crate::Error::Runtime) if the system has no such memory.
///
/// ```
/// let memory = gpu_alloc::allocate_pageable(100_000)?;
/// assert!(memory.as_ptr().addr().is_multiple_of(64));
/// assert!(gpu_alloc::pageable_memory_stats().active_bytes.current >= 100_000);
/// let first = memory.as_ptr();
/// drop(memory);
/// assert_eq!(gpu_alloc::allocate_pageable(100_000)?.as_ptr(), first);
/// # Ok::<(), gpu_alloc::Error>(())
/// ```
#[track_caller]
pub fn allocate_pageable(bytes: usize) -> Result<PageableMemory> {
    if bytes == 0 {
        return Ok(PageableMemory { taken: None });
    }
    let allocator = pageable::allocator()?;
    let location = outermost_place(Location::caller());
    let call_site = CallSite { location, tag: Tag::current() };
    let ServedBlock { block, .. } = allocator
        .allocate(bytes as u64, (), None, call_site)
        .map_err(|error| pageable::explain(allocator, bytes, call_site, error))?;
    Ok(PageableMemory { taken: Some((allocator, block)) })
}

/// Pageable host memory, which goes back to its allocator when dropped. The drop waits for nothing.
#[derive(Debug)]
pub struct PageableMemory {
    /// The block and its allocator; `None` for 0 bytes.
    taken: Option<(&'static PageableAllocator, Block)>,
}

impl PageableMemory {
    /// The first byte; null for 0 bytes.
    pub fn as_ptr(&self) -> *mut u8 {
        let address = self.taken.as_ref().map_or(0, |(_, block)| block.address().0);
        ptr::with_exposed_provenance_mut(address as usize)
    }

    /// The size in bytes: what was asked for, rounded up.
    pub fn bytes(&self) -> usize {
        self.taken.as_ref().map_or(0, |(_, block)| block.bytes() as usize)
    }
}

impl Drop for PageableMemory {
    fn drop(&mut self) {
        if let Some((allocator, block)) = self.taken.take() {
            allocator.free(block, []);
        }
    }
}
