//! Mappings that chunks have left.

use std::collections::VecDeque;

use crate::policy::slab::SlabIndex;

/// Old mappings, which stay until the work that used them is over.
///
/// A span may be cut, joined or used again since it was noted here: it is stale only if it is so at
/// the address that was noted.
#[derive(Debug, Default)]
pub(super) struct StaleMappings {
    /// The mappings by span and address, the oldest first.
    queue: VecDeque<(SlabIndex, u64)>,
    /// Whether anything may be over since all were looked at last.
    has_news: bool,
}

impl StaleMappings {
    /// Adds a mapping. Its uses may be over already.
    pub(super) fn push(&mut self, span: SlabIndex, address: u64) {
        self.queue.push_back((span, address));
        self.has_news = true;
    }

    /// Notes that a stream came on.
    pub(super) fn note_progress(&mut self) {
        self.has_news = true;
    }

    /// Takes up to `max` of the oldest mappings to look at; none if nothing can be over since the
    /// last time. What is not over is [put back](Self::put_back).
    pub(super) fn take_oldest(
        &mut self,
        max: usize,
    ) -> impl Iterator<Item = (SlabIndex, u64)> + use<> {
        // Without news all would be looked at in vain, at each request that maps memory.
        let count = match std::mem::take(&mut self.has_news) {
            true => self.queue.len().min(max),
            false => 0,
        };
        self.queue.drain(..count).collect::<Vec<_>>().into_iter()
    }

    /// Puts a mapping back that work may still use, behind all others.
    pub(super) fn put_back(&mut self, span: SlabIndex, address: u64) {
        self.queue.push_back((span, address));
    }

    /// All mappings, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (SlabIndex, u64)> {
        self.queue.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_looked_at_again_only_after_a_stream_came_on() {
        let (one, two) = (SlabIndex::at(0, 1), SlabIndex::at(0, 2));
        let mut stale = StaleMappings::default();
        stale.push(one, 10);
        stale.push(two, 20);
        assert_eq!(stale.take_oldest(1).collect::<Vec<_>>(), [(one, 10)]);
        stale.put_back(one, 10);
        assert_eq!(stale.take_oldest(9).count(), 0);
        stale.note_progress();
        assert_eq!(stale.take_oldest(9).collect::<Vec<_>>(), [(two, 20), (one, 10)]);
    }
}
