//! Gives memory back to the source.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::Stitched;
use super::arena::ArenaId;
use super::pages::PAGE;
use crate::policy::{MemorySource, StreamName};

impl<K: StreamName> Stitched<K> {
    /// Gives back every chunk that nobody holds anything of, whose uses are over, and that no graph
    /// uses; returns the bytes.
    pub(super) fn release_chunks<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        self.heap.caches.join_fresh();
        self.end_quarantine();
        self.quarantine.end_scarcity();
        self.mapper.unmap_stale(&mut self.heap, source, usize::MAX);
        let free = self.heap.free_chunks().filter(|(_, _, pages)| !pages.is_empty());
        let over: Vec<_> = free.filter(|(_, block, _)| self.heap.is_over(*block)).collect();
        for (arena, block, pages) in over {
            self.mapper.unmap_chunks(&mut self.heap, source, arena, (block, pages));
        }
        let released = self.mapper.chunks.destroy_spare(source);
        self.accounts.lower_most_held(&mut self.heap.caches, |_| 0);
        self.mapper.forget_calls();
        released
    }

    /// Gives back every chunk that was idle for as long as `idle`, and whose uses are over; returns
    /// the bytes.
    pub(super) fn trim<S: MemorySource>(
        &mut self,
        source: &mut S,
        now: Duration,
        idle: Duration,
    ) -> u64 {
        self.heap.caches.join_fresh();
        self.end_quarantine();
        if self.mapper.chunks.pages() == 0 {
            return 0;
        }
        self.mapper.unmap_stale(&mut self.heap, source, usize::MAX);
        let free = self.heap.free_chunks().filter(|(_, _, pages)| !pages.is_empty());
        for (arena, block, pages) in free.collect::<Vec<_>>() {
            let own = self.heap.stream_of(arena);
            let uses: Arc<[_]> = self.heap.caches[block].uses.all(own).collect();
            self.heap.arena_mut(arena).idle.note(pages.clone(), now, &uses);
            // The last of a free block go first: what is left of it before them keeps its slot.
            for run in self.old_runs(arena, pages, now, idle).into_iter().rev() {
                self.mapper.unmap_chunks(&mut self.heap, source, arena, (block, run));
            }
        }
        let released = self.mapper.chunks.destroy_spare(source);
        if released > 0 {
            // Nobody has held more for as long as that.
            let left = self.mapper.chunks.pages() * PAGE;
            self.accounts.lower_most_held(&mut self.heap.caches, |most| most.min(left));
        }
        released
    }

    /// Runs of whole chunks that were idle for long enough.
    fn old_runs(
        &self,
        arena: ArenaId,
        pages: Range<u64>,
        now: Duration,
        idle: Duration,
    ) -> Vec<Range<u64>> {
        let arena = self.heap.arena(arena);
        let is_over = |(stream, last): &(K, u64)| self.heap.has_completed(*stream, *last);
        let is_old = |page| arena.idle.is_old(page, (now, idle), is_over);
        let mut runs: Vec<Range<u64>> = Vec::new();
        let mut start = pages.start;
        while start < pages.end {
            let chunk = arena.chunk_at(start).expect("a free block is mapped throughout");
            let end = start + self.mapper.chunks.get(chunk).pages;
            if (start..end).all(is_old) {
                match runs.last_mut().filter(|run| run.end == start) {
                    Some(run) => run.end = end,
                    None => runs.push(start..end),
                }
            }
            start = end;
        }
        runs
    }
}
