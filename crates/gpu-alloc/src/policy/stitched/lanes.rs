//! All lanes together: spans and arenas by their names.

use std::ops::{Index, IndexMut};

use super::arena::{Arena, ArenaId};
use super::lane::Lane;
use super::span::{Span, Spans};
use crate::policy::StreamName;
use crate::policy::slab::Slot;

/// The lanes of a policy by their numbers. The first is the shared one.
#[derive(Debug)]
pub(super) struct Lanes<K>(Vec<Option<Box<Lane<K>>>>);

/// What is asked of a lane that is lent is a fault in the program.
const AT_HOME: &str = "the policy works when it has all its lanes";

impl<K: StreamName> Lanes<K> {
    pub(super) fn lane(&self, number: usize) -> &Lane<K> {
        self.0[number].as_deref().expect(AT_HOME)
    }

    pub(super) fn lane_mut(&mut self, number: usize) -> &mut Lane<K> {
        self.0[number].as_deref_mut().expect(AT_HOME)
    }

    pub(super) fn lanes(&self) -> impl Iterator<Item = &Lane<K>> {
        self.0.iter().map(|lane| lane.as_deref().expect(AT_HOME))
    }

    pub(super) fn lanes_mut(&mut self) -> impl Iterator<Item = &mut Lane<K>> {
        self.0.iter_mut().map(|lane| lane.as_deref_mut().expect(AT_HOME))
    }

    /// Makes a lane for a stream, if there may be one more.
    pub(super) fn add(&mut self, stream: K) -> Option<usize> {
        let number = self.0.len();
        (number < Slot::LANES).then(|| {
            self.0.push(Some(Box::new(Lane::of_stream(number, stream))));
            number
        })
    }

    /// Takes the lane of a stream away to be used elsewhere; nothing if it is away already, or there
    /// is none.
    pub(super) fn lend(&mut self, stream: K) -> Option<Box<Lane<K>>> {
        let is_of = |lane: &Option<Box<Lane<K>>>| {
            lane.as_deref().is_some_and(|lane| lane.stream() == Some(stream))
        };
        self.0.iter_mut().find(|lane| is_of(lane))?.take()
    }

    pub(super) fn take_back(&mut self, lane: Box<Lane<K>>) {
        let number = lane.number();
        self.0[number] = Some(lane);
    }

    pub(super) fn arena(&self, id: ArenaId) -> &Arena<K> {
        &self.lane(id.lane.into()).arenas[id.index as usize]
    }

    pub(super) fn arena_mut(&mut self, id: ArenaId) -> &mut Arena<K> {
        &mut self.lane_mut(id.lane.into()).arenas[id.index as usize]
    }

    /// The spans that an arena's are among.
    pub(super) fn of(&self, arena: ArenaId) -> &Spans<K> {
        &self.lane(arena.lane.into()).spans
    }

    /// All arenas.
    pub(super) fn arena_ids(&self) -> impl Iterator<Item = ArenaId> {
        self.lanes().flat_map(|lane| (0..lane.arenas.len() as u32).map(|index| lane.id(index)))
    }

    /// The spans of all lanes, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Span<K>> {
        self.lanes().flat_map(|lane| lane.spans.iter())
    }

    /// The spans from `slot` on, in order.
    pub(super) fn from(&self, slot: Slot) -> impl Iterator<Item = (Slot, &Span<K>)> {
        self.lane(slot.lane()).spans.from(slot)
    }

    /// The span from `slot` on that holds an address of the same region.
    pub(super) fn find_from(&self, slot: Slot, address: u64) -> Slot {
        self.lane(slot.lane()).spans.find_from(slot, address)
    }

    /// The span that a slot may name, if it is one.
    pub(super) fn get(&self, slot: Slot) -> Option<&Span<K>> {
        self.0.get(slot.lane())?.as_deref().expect(AT_HOME).spans.get(slot)
    }
}

impl<K: StreamName> Index<Slot> for Lanes<K> {
    type Output = Span<K>;

    fn index(&self, slot: Slot) -> &Span<K> {
        &self.lane(slot.lane()).spans[slot]
    }
}

impl<K: StreamName> IndexMut<Slot> for Lanes<K> {
    fn index_mut(&mut self, slot: Slot) -> &mut Span<K> {
        &mut self.lane_mut(slot.lane()).spans[slot]
    }
}

impl<K: StreamName> Default for Lanes<K> {
    fn default() -> Self {
        Lanes(vec![Some(Box::new(Lane::shared()))])
    }
}
