//! Addresses for the requests of one stream.

use std::collections::BTreeSet;
use std::ops::Range;

use super::bins::Bins;
use super::idle::IdlePages;
use super::pages::PAGE;
use crate::policy::slab::SlabIndex;
use crate::policy::{Pool, StreamAndPool};

/// The number of an arena, and of its stream cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ArenaId {
    pub(super) cache: u16,
    pub(super) index: u32,
}

/// The addresses that serve the small or the large requests of a owner. Free memory moves between
/// arenas a page or more at a time; in between, each keeps what is free for itself, so that whoever
/// allocates on one stream waits for no other.
#[derive(Debug)]
pub(super) struct StreamArena<K> {
    pub(super) owner: StreamAndPool<K>,
    pub(super) pool: Pool,
    /// The free blocks that can be handed out as they are.
    pub(super) free_blocks: Bins,
    /// The vacant spans by address.
    pub(super) vacant: BTreeSet<(u64, SlabIndex)>,
    pub(super) regions: Vec<Region>,
    /// The pages that nobody has held anything of since some tick.
    pub(super) idle: IdlePages<K>,
    /// The last uses by graphs, once their pool has ended.
    pub(super) uses_of_graphs: Vec<(K, u64)>,
}

/// Addresses that were reserved at once.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// Its first span, which it keeps: the lower one of two stays when they are cut or joined.
    pub(super) first: SlabIndex,
    /// The chunk that is mapped at each page, up to the last that ever had memory.
    chunks: Vec<Option<SlabIndex>>,
}

impl<K> StreamArena<K> {
    pub(super) fn new(owner: StreamAndPool<K>, pool: Pool) -> Self {
        StreamArena {
            owner,
            pool,
            free_blocks: Bins::default(),
            vacant: BTreeSet::new(),
            regions: Vec::new(),
            idle: IdlePages::default(),
            uses_of_graphs: Vec::new(),
        }
    }

    /// The chunk of physical memory that is mapped at a page; the page must be in a region.
    pub(super) fn chunk_at(&self, page: u64) -> Option<SlabIndex> {
        self.region_of(page).chunk_at(page)
    }

    /// The region that a page is in; it must be in one.
    pub(super) fn region_of(&self, page: u64) -> &Region {
        let region = self.regions.iter().find(|region| region.holds(page));
        region.expect("the page is in a region of the arena")
    }

    /// Notes what is mapped at `pages` pages from one on.
    pub(super) fn set_chunks(&mut self, page: u64, pages: u64, chunk: Option<SlabIndex>) {
        self.idle.forget(page..page + pages);
        let region = self.regions.iter_mut().find(|region| region.holds(page));
        let region = region.expect("the page is in a region of the arena");
        let index = region.index(page);
        let end = index + pages as usize;
        if region.chunks.len() < end {
            region.chunks.resize(end, None);
        }
        region.chunks[index..end].fill(chunk);
    }
}

impl Region {
    pub(super) fn new(address: u64, bytes: u64, first: SlabIndex) -> Region {
        Region { address, bytes, first, chunks: Vec::new() }
    }

    /// The chunk that is mapped at a page of the region.
    pub(super) fn chunk_at(&self, page: u64) -> Option<SlabIndex> {
        self.chunks.get(self.index(page)).copied().flatten()
    }

    /// The part of a run of mapped pages that consists of whole chunks: one that reaches beyond the run
    /// cannot be moved with it.
    pub(super) fn whole_chunks(&self, pages: Range<u64>) -> Range<u64> {
        let at = |index: usize| self.chunks.get(index).copied().flatten();
        let [mut start, mut end] = [pages.start, pages.end].map(|page| self.index(page));
        let reaches_before = start.checked_sub(1).and_then(at).filter(|_| start < end);
        while start < end && at(start) == reaches_before {
            start += 1;
        }
        let reaches_after = at(end);
        while start < end && at(end - 1) == reaches_after {
            end -= 1;
        }
        let first = self.address / PAGE;
        first + start as u64..first + end as u64
    }

    fn holds(&self, page: u64) -> bool {
        (self.address..self.address + self.bytes).contains(&(page * PAGE))
    }

    fn index(&self, page: u64) -> usize {
        (page - self.address / PAGE) as usize
    }
}
