//! All lanes together: spans and arenas by their names.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use super::arena::{Arena, ArenaId};
use super::lane::{Lane, SHARED};
use super::span::{Span, Spans};
use crate::policy::slab::Slot;
use crate::policy::{Pool, StreamName};

/// The lanes of a policy by their numbers. The first is the shared one.
#[derive(Debug)]
pub(super) struct Lanes<K> {
    all: Vec<Option<Box<Lane<K>>>>,
    /// What streams that are gone have left, in the order in which they went: lanes, by one of their
    /// arenas, and arenas of the shared lane.
    left: VecDeque<ArenaId>,
}

/// What is asked of a lane that is lent is a fault in the program.
const AT_HOME: &str = "the policy works when it has all its lanes";

impl<K: StreamName> Lanes<K> {
    pub(super) fn lane(&self, number: usize) -> &Lane<K> {
        self.all[number].as_deref().expect(AT_HOME)
    }

    pub(super) fn lane_mut(&mut self, number: usize) -> &mut Lane<K> {
        self.all[number].as_deref_mut().expect(AT_HOME)
    }

    pub(super) fn lanes(&self) -> impl Iterator<Item = &Lane<K>> {
        self.all.iter().map(|lane| lane.as_deref().expect(AT_HOME))
    }

    pub(super) fn lanes_mut(&mut self) -> impl Iterator<Item = &mut Lane<K>> {
        self.all.iter_mut().map(|lane| lane.as_deref_mut().expect(AT_HOME))
    }

    /// A lane for a stream: a new one as long as there may be more, or else one that was left.
    pub(super) fn add(&mut self, stream: K) -> Option<&Lane<K>> {
        let number = self.all.len();
        if number < Slot::LANES {
            self.all.push(Some(Box::new(Lane::of_stream(number, stream))));
            return Some(self.lane(number));
        }
        let left = self.left.iter().position(|arena| usize::from(arena.lane) != SHARED)?;
        let number = self.left.remove(left)?.lane.into();
        self.lane_mut(number).pass(stream);
        Some(self.lane(number))
    }

    /// An arena of the shared lane that was left, for a stream without a lane.
    pub(super) fn take_left(&mut self, stream: K, pool: Pool) -> Option<ArenaId> {
        let is_one = |id: &ArenaId| usize::from(id.lane) == SHARED && self.arena(*id).pool == pool;
        let left = self.left.iter().position(is_one)?;
        let id = self.left.remove(left)?;
        self.lane_mut(SHARED).pass_arena(id.index, stream);
        Some(id)
    }

    /// Keeps what a stream that is gone has left, by one of its arenas.
    pub(super) fn leave(&mut self, arena: ArenaId) {
        let lane = self.lane_mut(arena.lane.into());
        if lane.number() == SHARED || lane.stream().is_some() {
            lane.leave();
            self.left.push_back(arena);
        }
    }

    /// Takes the lane of a stream away to be used elsewhere; nothing if it is away already, or there
    /// is none.
    pub(super) fn lend(&mut self, stream: K) -> Option<Box<Lane<K>>> {
        let is_of = |lane: &Option<Box<Lane<K>>>| {
            lane.as_deref().is_some_and(|lane| lane.stream() == Some(stream))
        };
        self.all.iter_mut().find(|lane| is_of(lane))?.take()
    }

    pub(super) fn take_back(&mut self, lane: Box<Lane<K>>) {
        let number = lane.number();
        self.all[number] = Some(lane);
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
        self.all.get(slot.lane())?.as_deref().expect(AT_HOME).spans.get(slot)
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
        Lanes { all: vec![Some(Box::new(Lane::shared()))], left: VecDeque::new() }
    }
}
