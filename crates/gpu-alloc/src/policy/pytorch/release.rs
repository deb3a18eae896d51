//! Memory given back to the source: all that is unused, what was not used for long, or what makes
//! room for an oversize block.

use std::time::Duration;

use super::Pytorch;
use super::heap::HeapBlock;
use super::size::RequestSize;
use crate::policy::slab::SlabIndex;
use crate::policy::{MemorySource, Pool, StreamAndPool, StreamName};

impl<K: StreamName> Pytorch<K> {
    /// The free blocks that are whole segments, or have whole pages in them, and that no pool keeps.
    pub(super) fn releasable(&self) -> impl Iterator<Item = SlabIndex> {
        let free = self.heap.free_blocks().map(|free| free.slot);
        free.filter(|slot| self.is_releasable(*slot))
    }

    fn is_releasable(&self, slot: SlabIndex) -> bool {
        let block = &self.heap[slot];
        let has_pages = || self.expandable.as_ref().is_some_and(|e| e.whole_pages(block).is_some());
        self.pools.keeper(block.note.owner.pool).is_none()
            && (self.heap.is_plain_segment(slot) || has_pages())
    }

    /// Whether the own stream is done with a free block. Those of others were waited for.
    pub(super) fn is_past(&self, slot: SlabIndex) -> bool {
        let note = &self.heap[slot].note;
        note.last_use <= self.pending.completed_on(note.owner.stream)
    }

    /// Gives back what was not used for as long as `idle`; returns the bytes.
    pub(super) fn trim<S: MemorySource>(
        &mut self,
        source: &mut S,
        now: Duration,
        idle: Duration,
    ) -> u64 {
        let unused: Vec<_> = self.releasable().collect();
        for slot in &unused {
            self.heap.note_idle(*slot, now);
        }
        let is_old = |block: &HeapBlock<K>| {
            block.note.idle_since.is_some_and(|since| now.saturating_sub(since) >= idle)
        };
        self.release_segments(source, is_old) + self.release_pages(source, is_old)
    }

    /// Gives back the unused segments of which something is true; returns the bytes.
    pub(super) fn release_segments<S: MemorySource>(
        &mut self,
        source: &mut S,
        goes: impl Fn(&HeapBlock<K>) -> bool,
    ) -> u64 {
        let unused = self.unused(|block| block.note.range.is_none() && goes(block));
        unused.into_iter().map(|slot| self.release_segment(source, slot)).sum()
    }

    /// Gives back the unused pages of free blocks of which something is true; returns the bytes.
    pub(super) fn release_pages<S: MemorySource>(
        &mut self,
        source: &mut S,
        goes: impl Fn(&HeapBlock<K>) -> bool,
    ) -> u64 {
        let unused = self.unused(|block| block.note.range.is_some() && goes(block));
        let Some(expandable) = &mut self.expandable else { return 0 };
        let Some(memory) = source.virtual_memory() else { return 0 };
        let (heap, accounts) = (&mut self.heap, &mut self.accounts);
        let unused = unused.into_iter();
        let released = unused.map(|slot| expandable.unmap(heap, accounts, memory, slot)).sum();
        expandable.unreserve_empty(heap, memory);
        released
    }

    /// The bytes that can be given back of the blocks of which something is true.
    fn unused(&self, goes: impl Fn(&HeapBlock<K>) -> bool) -> Vec<SlabIndex> {
        let unused = self.releasable().filter(|slot| goes(&self.heap[*slot]));
        unused.filter(|slot| self.is_past(*slot)).collect()
    }

    fn release_segment<S: MemorySource>(&mut self, source: &mut S, slot: SlabIndex) -> u64 {
        let segment = self.heap.remove_segment(slot);
        source.release(segment.address(), segment.bytes());
        self.accounts.segment_released(segment.note.pool, segment.bytes());
        segment.bytes()
    }

    /// Gives back one oversize block that would have been too large, or several that are too small,
    /// the largest first; false if that is not enough for a request.
    pub(super) fn release_oversize<S: MemorySource>(
        &mut self,
        source: &mut S,
        size: RequestSize,
        owner: StreamAndPool<K>,
    ) -> bool {
        let max_split = self.sizes.max_split();
        let wanted = size.rounded.max(max_split);
        let may_go = |slot: &SlabIndex| {
            self.heap.is_plain_segment(*slot) && self.is_releasable(*slot) && self.is_past(*slot)
        };
        let set = self.heap.free_set(size.pool);
        let large = set.fits(owner, wanted).next().map(|free| free.slot).filter(may_go);
        if let Some(slot) = large {
            self.release_segment(source, slot);
            return true;
        }
        let oversize = set.too_small(owner, wanted).take_while(|free| free.bytes >= max_split);
        let oversize: Vec<_> = oversize.map(|free| free.slot).filter(may_go).collect();
        let mut released = 0;
        for slot in oversize {
            if released >= wanted {
                break;
            }
            released += self.release_segment(source, slot);
        }
        released >= wanted
    }

    /// Gives back segments that were not used for longer than others, when more is held than a part
    /// of the memory limit.
    pub(super) fn collect_old_segments<S: MemorySource>(&mut self, source: &mut S) {
        let threshold = self.sizes.options().garbage_collection_threshold();
        let Some((part, limit)) = threshold.zip(self.memory_limit) else { return };
        let excess = self.accounts.reserved().saturating_sub((part * limit as f64) as u64);
        let mut segments: Vec<_> = self
            .heap
            .free_set(Pool::Large)
            .iter()
            .filter(|free| free.owner.pool.is_none() && self.heap.is_plain_segment(free.slot))
            .map(|free| (free.slot, self.heap.age(free.slot)))
            .collect();
        // PyTorch's `garbage_collect_cached_blocks`: those of at least the mean age go, and the mean
        // is taken anew of those that are left, so that few young segments are given back when a few
        // old ones are enough.
        let mut collected = 0;
        while collected < excess && !segments.is_empty() {
            let ages: u64 = segments.iter().map(|(_, age)| age).sum();
            let mean = ages.div_ceil(segments.len() as u64);
            let (old, young) = segments
                .into_iter()
                .partition::<Vec<_>, _>(|(slot, age)| *age >= mean && self.is_past(*slot));
            if old.is_empty() {
                break;
            }
            let old = old.into_iter().map(|(slot, _)| slot);
            collected += old.map(|slot| self.release_segment(source, slot)).sum::<u64>();
            segments = young;
        }
    }
}
