//! Spans of addresses, linked in order.

use std::ops::{Index, IndexMut};

use super::arena::ArenaId;
use crate::policy::slab::SlabIndex;
use crate::policy::uses::LastUses;
use crate::policy::{Block, StreamName};

/// A range of addresses that are all in one state. Neighbours in the same state are one span, but
/// for those that are held.
#[derive(Debug)]
pub(super) struct Span<K> {
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) state: SpanState,
    pub(super) arena: ArenaId,
    /// The arena of the request, where it is held. It is another one where a stream holds memory of
    /// another stream's.
    pub(super) holder: ArenaId,
    /// The neighbours in the region.
    pub(super) previous: Option<SlabIndex>,
    pub(super) next: Option<SlabIndex>,
    /// The neighbours among free blocks of like size.
    pub(super) smaller: Option<SlabIndex>,
    pub(super) larger: Option<SlabIndex>,
    /// The bytes that were asked for, where it is held.
    pub(super) requested: u64,
    /// The last uses of any byte, by whoever held it.
    pub(super) uses: LastUses<K>,
    /// Whether any byte was handed out since its page was made.
    pub(super) is_recycled: bool,
    /// The time of the last free of any byte, by the policy's count of operations.
    pub(super) freed: u64,
}

/// States of a span's addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanState {
    /// The program holds the memory.
    Held,
    /// The program has freed the memory, and it waits for work on other streams.
    Waiting,
    /// Free, but kept back as long as there is other memory.
    Quarantined,
    /// Freed by the last free of its stream cache: free, and not joined with its neighbours yet.
    Fresh,
    /// Free, and memory is mapped throughout.
    Free,
    /// Free, and nothing is mapped; whole pages.
    Vacant,
    /// Memory is mapped that has moved away, and work may still use it here; whole pages.
    Stale,
    /// It was joined with another.
    Unused,
}

impl<K> Span<K> {
    pub(super) fn end(&self) -> u64 {
        self.address + self.bytes
    }

    /// Whether it is that of a block which was handed out and not given back.
    #[inline]
    pub(super) fn is_of(&self, block: &Block) -> bool {
        self.state == SpanState::Held
            && self.address == block.address.0
            && self.bytes == block.bytes
    }

    /// Whether it is free memory, also where it is kept back.
    pub(super) fn is_at_hand(&self) -> bool {
        matches!(self.state, SpanState::Free | SpanState::Fresh | SpanState::Quarantined)
    }

    /// Whether something can be placed here.
    pub(super) fn is_placeable(&self) -> bool {
        matches!(self.state, SpanState::Free | SpanState::Vacant)
    }
}

/// The spans of all regions of a stream cache.
#[derive(Debug)]
pub(super) struct SpanTable<K> {
    cache: usize,
    records: Vec<Span<K>>,
    /// The places of spans that were joined with others, to be used again.
    unused: Vec<SlabIndex>,
}

impl<K: StreamName> SpanTable<K> {
    pub(super) fn new(cache: usize) -> Self {
        SpanTable { cache, records: Vec::new(), unused: Vec::new() }
    }

    fn insert(&mut self, span: Span<K>) -> SlabIndex {
        if let Some(slot) = self.unused.pop() {
            self.records[slot.index()] = span;
            return slot;
        }
        self.records.push(span);
        SlabIndex::at(self.cache, self.records.len() - 1)
    }

    /// Adds a region of addresses as one vacant span.
    pub(super) fn add_region(&mut self, arena: ArenaId, address: u64, bytes: u64) -> SlabIndex {
        self.insert(Span {
            address,
            bytes,
            state: SpanState::Vacant,
            arena,
            holder: arena,
            previous: None,
            next: None,
            smaller: None,
            larger: None,
            requested: 0,
            uses: LastUses::none(),
            is_recycled: false,
            freed: 0,
        })
    }

    /// Removes a region that is one span.
    pub(super) fn remove_region(&mut self, slot: SlabIndex) {
        self.remove(slot);
    }

    fn remove(&mut self, slot: SlabIndex) {
        self[slot].state = SpanState::Unused;
        self.unused.push(slot);
    }

    /// The span of a block that claims to be of this stream cache.
    pub(super) fn get(&self, slot: SlabIndex) -> Option<&Span<K>> {
        self.records.get(slot.index())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Span<K>> {
        self.records.iter().filter(|span| span.state != SpanState::Unused)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Span<K>> {
        self.records.iter_mut().filter(|span| span.state != SpanState::Unused)
    }

    /// Cuts a span at an address within it; returns what follows there.
    pub(super) fn cut(&mut self, slot: SlabIndex, address: u64) -> SlabIndex {
        let span = &mut self[slot];
        debug_assert!(span.address < address && address < span.end());
        let rest = Span {
            address,
            bytes: span.end() - address,
            previous: Some(slot),
            smaller: None,
            larger: None,
            requested: 0,
            uses: span.uses.clone(),
            ..*span
        };
        span.bytes = address - span.address;
        let after = rest.next;
        let rest = self.insert(rest);
        self[slot].next = Some(rest);
        if let Some(after) = after {
            self[after].previous = Some(rest);
        }
        rest
    }

    /// Joins a span with the one that follows it.
    pub(super) fn join_next(&mut self, slot: SlabIndex) {
        let next_slot = self[slot].next.expect("only a span with a next one is joined with it");
        let next = &mut self[next_slot];
        let uses = std::mem::replace(&mut next.uses, LastUses::none());
        let (bytes, after, freed) = (next.bytes, next.next, next.freed);
        let is_recycled = next.is_recycled;
        let span = &mut self[slot];
        span.bytes += bytes;
        span.next = after;
        span.uses.join(&uses);
        span.is_recycled |= is_recycled;
        span.freed = span.freed.max(freed);
        if let Some(after) = after {
            self[after].previous = Some(slot);
        }
        self.remove(next_slot);
    }

    /// The span from `slot` on that holds an address of the same region.
    pub(super) fn find_from(&self, mut slot: SlabIndex, address: u64) -> SlabIndex {
        while self[slot].end() <= address {
            slot = self[slot].next.expect("the address is in the region");
        }
        slot
    }

    /// The spans from `slot` on, in order.
    pub(super) fn from(&self, slot: SlabIndex) -> impl Iterator<Item = (SlabIndex, &Span<K>)> {
        std::iter::successors(Some((slot, &self[slot])), |(_, span)| {
            span.next.map(|next| (next, &self[next]))
        })
    }
}

impl<K> Index<SlabIndex> for SpanTable<K> {
    type Output = Span<K>;

    #[inline]
    fn index(&self, slot: SlabIndex) -> &Span<K> {
        &self.records[slot.index()]
    }
}

impl<K> IndexMut<SlabIndex> for SpanTable<K> {
    #[inline]
    fn index_mut(&mut self, slot: SlabIndex) -> &mut Span<K> {
        &mut self.records[slot.index()]
    }
}
