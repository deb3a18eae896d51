//! Gives back memory that nobody has used for some time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::Stitched;
use super::arena::ArenaId;
use super::pages::PAGE;
use crate::policy::slab::Slot;
use crate::policy::{MemorySource, StreamName};

/// The pages of an arena that were free at a tick and handed out to nobody since. There are none
/// where nobody makes ticks.
#[derive(Debug)]
pub(super) struct IdlePages<K>(BTreeMap<u64, Idle<K>>);

/// Since when a page is idle.
#[derive(Debug)]
struct Idle<K> {
    since: Duration,
    /// The work before that tick that may have used it. Its free block knows of later work as well, by
    /// whoever held other parts of the free block since.
    uses: Arc<[(K, u64)]>,
}

impl<K> IdlePages<K> {
    /// Notes that pages are handed out, or other memory than before.
    #[inline]
    pub(super) fn forget(&mut self, pages: Range<u64>) {
        if !self.0.is_empty() {
            self.0.extract_if(pages, |_, _| true).for_each(drop);
        }
    }
}

impl<K: StreamName> IdlePages<K> {
    /// Forgets the uses on a stream, which are over.
    pub(super) fn forget_stream(&mut self, stream: K) {
        for page in self.0.values_mut() {
            if page.uses.iter().any(|(other, _)| *other == stream) {
                page.uses =
                    page.uses.iter().copied().filter(|(other, _)| *other != stream).collect();
            }
        }
    }
}

impl<K> Default for IdlePages<K> {
    fn default() -> Self {
        IdlePages(BTreeMap::new())
    }
}

impl<K: StreamName> Stitched<K> {
    /// Gives back every chunk that was idle for as long as `idle`, and whose uses are over; returns
    /// the bytes.
    pub(super) fn trim<S: MemorySource>(
        &mut self,
        source: &mut S,
        now: Duration,
        idle: Duration,
    ) -> u64 {
        self.join_fresh();
        self.end_quarantine();
        if self.pages == 0 {
            return 0;
        }
        self.unmap_stale(source, usize::MAX);
        let free: Vec<_> = self.free_chunks().filter(|(_, _, pages)| !pages.is_empty()).collect();
        for (arena, free_block, pages) in free {
            self.note_idle(arena, free_block, pages.clone(), now);
            // The last of a free block go first: what is left of it before them keeps its slot.
            for run in self.old_runs(arena, pages, now, idle).into_iter().rev() {
                self.unmap_chunks(source, arena, free_block, run);
            }
        }
        let released = self.destroy_spare(source);
        if released > 0 {
            self.add_up();
            // Nobody has held more for as long as that.
            self.most_held = self.most_held.min(self.pages * PAGE).max(self.held());
        }
        released
    }

    fn note_idle(&mut self, arena: ArenaId, free_block: Slot, pages: Range<u64>, now: Duration) {
        let uses: Arc<[_]> = self.spans[free_block].uses.all(self.stream_of(arena)).collect();
        let idle = &mut self.arena_mut(arena).idle.0;
        for page in pages {
            idle.entry(page).or_insert_with(|| Idle { since: now, uses: Arc::clone(&uses) });
        }
    }

    /// Runs of whole chunks that were idle for long enough.
    fn old_runs(
        &self,
        arena: ArenaId,
        pages: Range<u64>,
        now: Duration,
        idle: Duration,
    ) -> Vec<Range<u64>> {
        let known = &self.arena(arena).idle.0;
        let is_old = |page: u64| {
            known.get(&page).is_some_and(|page| {
                let is_over = |(stream, last): &(K, u64)| self.has_completed(*stream, *last);
                now.saturating_sub(page.since) >= idle && page.uses.iter().all(is_over)
            })
        };
        let mut runs: Vec<Range<u64>> = Vec::new();
        let mut start = pages.start;
        while start < pages.end {
            let chunk =
                self.arena(arena).chunk_at(start).expect("a free block is mapped throughout");
            let end = start + self.chunks[chunk].pages;
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
