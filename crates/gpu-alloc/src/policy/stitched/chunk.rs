//! Chunks of physical memory, mapped or spare.

use super::arena::ArenaId;
use super::pages::PAGE;
use crate::policy::slab::{Slab, SlabIndex};
use crate::policy::source::KnownVirtualMemory;
use crate::policy::{MemorySource, Physical, SourceError};

/// Physical memory that was made at once, and moves as a whole.
#[derive(Debug)]
pub(super) struct PhysicalChunk {
    pub(super) physical: Physical,
    pub(super) pages: u64,
    /// The place where it is mapped, if it is anywhere: the arena and the first page.
    pub(super) mapped_at: Option<(ArenaId, u64)>,
}

impl PhysicalChunk {
    pub(super) fn bytes(&self) -> u64 {
        self.pages * PAGE
    }
}

/// All chunks that the source has made and not got back.
#[derive(Debug, Default)]
pub(super) struct ChunkStore {
    chunks: Slab<PhysicalChunk>,
    /// Chunks that are mapped nowhere, of no use to anybody before.
    spare: Vec<SlabIndex>,
    pages: u64,
    made: u64,
    destroyed: u64,
}

impl ChunkStore {
    /// The pages of all chunks.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// The number of chunks that were made, and of those that went back, since the counts were reset.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.made, self.destroyed)
    }

    pub(super) fn reset_counts(&mut self) {
        (self.made, self.destroyed) = (0, 0);
    }

    pub(super) fn get(&self, chunk: SlabIndex) -> &PhysicalChunk {
        &self.chunks[chunk]
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (SlabIndex, &PhysicalChunk)> {
        self.chunks.entries()
    }

    /// Has the source make a chunk, which is mapped nowhere and not spare.
    pub(super) fn make<S: MemorySource>(
        &mut self,
        source: &mut S,
        pages: u64,
    ) -> Result<SlabIndex, SourceError<S::Error>> {
        let physical = source.known_virtual_memory().create(pages * PAGE)?;
        self.pages += pages;
        self.made += 1;
        Ok(self.chunks.insert(PhysicalChunk { physical, pages, mapped_at: None }))
    }

    /// Notes that a chunk is mapped from a page of an arena on.
    pub(super) fn note_mapped(&mut self, chunk: SlabIndex, arena: ArenaId, page: u64) {
        self.chunks[chunk].mapped_at = Some((arena, page));
    }

    /// Notes that a chunk is mapped nowhere, to be mapped elsewhere at once.
    ///
    /// Returns where it was mapped, unless it was spare.
    pub(super) fn take(&mut self, chunk: SlabIndex) -> Option<(ArenaId, u64)> {
        let mapped_at = self.chunks[chunk].mapped_at.take();
        if mapped_at.is_none() {
            self.spare.retain(|spare| *spare != chunk);
        }
        mapped_at
    }

    /// Notes that a chunk is mapped nowhere and that nobody needs it now.
    pub(super) fn make_spare(&mut self, chunk: SlabIndex) {
        self.chunks[chunk].mapped_at = None;
        self.spare.push(chunk);
    }

    /// The spare chunks, with their pages.
    pub(super) fn spare(&self) -> impl Iterator<Item = (SlabIndex, u64)> {
        self.spare.iter().map(|chunk| (*chunk, self.chunks[*chunk].pages))
    }

    /// Gives the spare chunks back to the source; returns their bytes.
    pub(super) fn destroy_spare<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        let mut released = 0;
        for chunk in std::mem::take(&mut self.spare) {
            let chunk = self.chunks.remove(chunk);
            source.known_virtual_memory().destroy(chunk.physical, chunk.bytes());
            self.pages -= chunk.pages;
            self.destroyed += 1;
            released += chunk.bytes();
        }
        released
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up_source::MadeUpSource;
    use super::*;

    #[test]
    fn a_chunk_is_spare_or_mapped_and_only_spare_ones_go_back() {
        let mut source = MadeUpSource::of(8 * PAGE);
        let mut chunks = ChunkStore::default();
        let [one, two] = [3, 4].map(|pages| chunks.make(&mut source, pages).unwrap());
        assert!(chunks.make(&mut source, 2).is_err(), "there is one page left");
        let arena = ArenaId { cache: 0, index: 7 };
        chunks.note_mapped(one, arena, 100);
        chunks.make_spare(two);
        assert_eq!(chunks.spare().collect::<Vec<_>>(), [(two, 4)]);
        assert_eq!(chunks.destroy_spare(&mut source), 4 * PAGE);
        assert_eq!((chunks.pages(), chunks.counts()), (3, (2, 1)));
        assert_eq!(chunks.take(one), Some((arena, 100)));
        assert_eq!(chunks.take(one), None, "it is mapped nowhere by now");
    }
}
