//! Spans of addresses, linked in order.

use std::ops::{Index, IndexMut};

use super::arena::ArenaId;
use super::uses::Uses;
use crate::policy::StreamName;
use crate::policy::slab::{Slab, Slot};

/// A range of addresses that are all in one state. Neighbours in the same state are one span, but
/// for those that are held.
#[derive(Debug)]
pub(super) struct Span<K> {
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) state: State,
    pub(super) arena: ArenaId,
    /// Where it is held, the arena of the request. It is another one where a stream holds memory of
    /// another stream's.
    pub(super) holder: ArenaId,
    /// The neighbours in the region.
    pub(super) previous: Option<Slot>,
    pub(super) next: Option<Slot>,
    /// The neighbours among holes of like size.
    pub(super) smaller: Option<Slot>,
    pub(super) larger: Option<Slot>,
    /// What was asked for, where it is held.
    pub(super) requested: u64,
    /// The last uses of any byte, by whoever held it.
    pub(super) uses: Uses<K>,
    /// Whether any byte was handed out since its page was made.
    pub(super) is_recycled: bool,
    /// When any byte was freed last, by the policy's count of operations.
    pub(super) freed: u64,
}

/// What a span's addresses are good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The program holds the memory.
    Held,
    /// The program has freed the memory, and it waits for work on other streams.
    Waiting,
    /// Free, but kept back as long as there is other memory.
    Quarantined,
    /// Free, and memory is mapped throughout.
    Hole,
    /// Free, and nothing is mapped; whole pages.
    Vacant,
    /// Memory is mapped that has moved away, and work may still use it here; whole pages.
    Stale,
}

impl<K> Span<K> {
    pub(super) fn end(&self) -> u64 {
        self.address + self.bytes
    }

    /// Whether something can be placed here.
    pub(super) fn is_free(&self) -> bool {
        matches!(self.state, State::Hole | State::Vacant)
    }
}

/// All spans, of all regions.
#[derive(Debug)]
pub(super) struct Spans<K>(Slab<Span<K>>);

impl<K: StreamName> Spans<K> {
    /// Adds a region of addresses as one vacant span.
    pub(super) fn add_region(&mut self, arena: ArenaId, address: u64, bytes: u64) -> Slot {
        self.0.insert(Span {
            address,
            bytes,
            state: State::Vacant,
            arena,
            holder: arena,
            previous: None,
            next: None,
            smaller: None,
            larger: None,
            requested: 0,
            uses: Uses::none(),
            is_recycled: false,
            freed: 0,
        })
    }

    /// Removes a region that is one span.
    pub(super) fn remove_region(&mut self, slot: Slot) {
        self.0.remove(slot);
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Span<K>> {
        self.0.get(slot)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Span<K>> {
        self.0.iter()
    }

    /// Cuts a span at an address within it; returns what follows there.
    pub(super) fn cut(&mut self, slot: Slot, address: u64) -> Slot {
        let span = &mut self.0[slot];
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
        let rest = self.0.insert(rest);
        self.0[slot].next = Some(rest);
        if let Some(after) = after {
            self.0[after].previous = Some(rest);
        }
        rest
    }

    /// Joins a span with the one that follows it.
    pub(super) fn join_next(&mut self, slot: Slot) {
        let next = self.0[slot].next.expect("only a span with a next one is joined with it");
        let next = self.0.remove(next);
        let span = &mut self.0[slot];
        span.bytes += next.bytes;
        span.next = next.next;
        span.uses.join(&next.uses);
        span.is_recycled |= next.is_recycled;
        span.freed = span.freed.max(next.freed);
        if let Some(after) = next.next {
            self.0[after].previous = Some(slot);
        }
    }

    /// The span from `slot` on that holds an address of the same region.
    pub(super) fn find_from(&self, mut slot: Slot, address: u64) -> Slot {
        while self.0[slot].end() <= address {
            slot = self.0[slot].next.expect("the address is in the region");
        }
        slot
    }

    /// The spans from `slot` on, in order.
    pub(super) fn from(&self, slot: Slot) -> impl Iterator<Item = (Slot, &Span<K>)> {
        std::iter::successors(Some((slot, &self.0[slot])), |(_, span)| {
            span.next.map(|next| (next, &self.0[next]))
        })
    }
}

impl<K> Index<Slot> for Spans<K> {
    type Output = Span<K>;

    fn index(&self, slot: Slot) -> &Span<K> {
        &self.0[slot]
    }
}

impl<K> IndexMut<Slot> for Spans<K> {
    fn index_mut(&mut self, slot: Slot) -> &mut Span<K> {
        &mut self.0[slot]
    }
}

impl<K> Default for Spans<K> {
    fn default() -> Self {
        Spans(Slab::default())
    }
}
