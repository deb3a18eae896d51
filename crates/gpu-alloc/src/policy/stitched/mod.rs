//! Device memory stitched together from pages: Sluice's own policy.

mod arena;
mod bins;
mod movable;
mod pages;
mod piece;
mod place;
mod policy;
mod quarantine;
mod release;
mod snapshot;
mod span;
mod stitch;
mod supply;
mod uses;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use self::arena::{Arena, ArenaId};
use self::pages::PAGE;
use self::piece::Piece;
use self::quarantine::Quarantine;
use self::span::{Spans, State};
use super::pending::Pending;
use super::slab::{Slab, Slot};
use super::{Block, Home, MemoryStats, Pool, PoolId, StreamName};

/// The calls to the driver that each page is worth at all times: to make it, to map it, and then one
/// more.
const CALLS_DUE_PER_PAGE: u64 = 3;
/// A call is due for so many requests and frees besides.
const OPERATIONS_PER_CALL_DUE: u64 = 1000;
/// So many calls beyond those cost more than a page is worth.
const CALLS_FOR_A_PAGE: u64 = 32;

/// Sluice's own policy: physical pages of 2 MiB that are put where addresses are free.
///
/// A request takes a hole, free memory with addresses in one piece, if its stream has one that is
/// large enough. If not, free pages from elsewhere are mapped where some are missing. So what is
/// free is of use wherever it is, and memory is lost only in pages that are partly held. Of several
/// places a request gets the one where it takes the fewest pages that nobody holds yet.
///
/// # Physical memory
/// It comes in pieces of some pages, as a call to the driver costs the same for one page and for
/// many. A piece moves when all of it is free. It is mapped at its new place at once, while the old
/// mapping stays: two places may show the same memory. The old one goes once the work that used it
/// there is known to be over. New pages are made as long as all memory is little more than what was
/// ever held at once (2 %); beyond that, pages move first. Where they never cease to move, there may be
/// more, bit by bit, until they do.
///
/// # Streams
/// Each stream has its own addresses. What is freed is at once free for the next request, also if
/// other streams still use it: whoever gets it must come after those uses
/// ([`waits_for`](super::Policy::waits_for)). Which memory that is depends on the order of the
/// calls alone, never on how far the device has come. Memory that other streams have used is handed
/// out last: up to 64 MiB of it, or a 128th of the most that was held, are kept back while there is
/// other memory, so that whoever copies ahead does not wait for the work on the copy before. Pages
/// move between streams only where a stream would have to be given new ones otherwise.
///
/// Pools keep memory apart for graphs ([`Home::pool`]): it does not move, serves nobody else, is not
/// given back before [`end_pool`](super::Policy::end_pool), and is handed out again only when no
/// other stream uses it any more, as captured work cannot wait for work that runs.
#[derive(Debug)]
pub struct Stitched<K> {
    arenas: Vec<Arena<K>>,
    arena_of: BTreeMap<(Home<K>, Pool), ArenaId>,
    /// Arenas without a home.
    retired: Vec<ArenaId>,
    spans: Spans<K>,
    pieces: Slab<Piece>,
    /// Pieces that are mapped nowhere, of no use to anybody before.
    spare: Vec<Slot>,
    /// Mappings that pieces have left, oldest first, by span and address.
    stale: VecDeque<(Slot, u64)>,
    /// The pools that graphs may still use. Their memory is not given back.
    pools: BTreeSet<PoolId>,
    /// Memory of graphs that was freed and waits for work on other streams, and how far each stream
    /// is known to have come.
    pending: Pending<K>,
    /// Memory that was freed lately while other streams used it.
    quarantine: Quarantine,
    /// Whether any stream came on since old mappings were looked at.
    has_news: bool,
    /// All pages that were made and not given back.
    pages: u64,
    /// The calls to the driver that made, mapped and unmapped memory.
    calls: u64,
    /// The most bytes that were ever held at once.
    most_held: u64,
    /// Counts requests and frees, to tell what was freed first.
    operations: u64,
    statistics: MemoryStats,
}

impl<K: StreamName> Stitched<K> {
    /// A policy that has no memory yet.
    pub fn new() -> Self {
        Stitched {
            arenas: Vec::new(),
            arena_of: BTreeMap::new(),
            retired: Vec::new(),
            spans: Spans::default(),
            pieces: Slab::default(),
            spare: Vec::new(),
            stale: VecDeque::new(),
            pools: BTreeSet::new(),
            pending: Pending::default(),
            quarantine: Quarantine::default(),
            has_news: false,
            pages: 0,
            calls: 0,
            most_held: 0,
            operations: 0,
            statistics: MemoryStats::default(),
        }
    }

    /// What it has done and holds.
    pub fn statistics(&self) -> &MemoryStats {
        &self.statistics
    }

    /// Sets every peak to the current value.
    pub fn reset_peak_statistics(&mut self) {
        self.statistics.reset_peak();
    }

    /// Sets the totals of what was added and taken away, and all counts, to zero.
    pub fn reset_accumulated_statistics(&mut self) {
        self.statistics.reset_accumulated();
    }

    fn arena(&self, arena: ArenaId) -> &Arena<K> {
        &self.arenas[arena.0 as usize]
    }

    fn arena_mut(&mut self, arena: ArenaId) -> &mut Arena<K> {
        &mut self.arenas[arena.0 as usize]
    }

    fn arena_ids(&self) -> impl Iterator<Item = ArenaId> + use<K> {
        (0..self.arenas.len() as u32).map(ArenaId)
    }

    fn stream_of(&self, arena: ArenaId) -> K {
        self.arena(arena).home.stream
    }

    /// The arena for a home's requests of a kind, made at the first.
    fn arena_for(&mut self, home: Home<K>, pool: Pool) -> ArenaId {
        let Stitched { arenas, arena_of, pools, retired, .. } = self;
        *arena_of.entry((home, pool)).or_insert_with(|| {
            pools.extend(home.pool);
            if let Some(id) = retired.pop() {
                arenas[id.0 as usize] = Arena::new(home, pool);
                return id;
            }
            arenas.push(Arena::new(home, pool));
            ArenaId(arenas.len() as u32 - 1)
        })
    }

    /// Whether an arena's memory must stay where it is, whoever holds it.
    fn is_kept(&self, arena: ArenaId) -> bool {
        self.arena(arena).home.pool.is_some_and(|pool| self.pools.contains(&pool))
    }

    fn has_completed(&self, stream: K, sequence: u64) -> bool {
        self.pending.completed_on(stream) >= sequence
    }

    /// Takes a span out of the list of its arena that it is in, to change it.
    fn unlist(&mut self, slot: Slot) {
        let Stitched { arenas, spans, .. } = self;
        let span = &spans[slot];
        let arena = &mut arenas[span.arena.0 as usize];
        match span.state {
            State::Hole => arena.holes.remove(spans, slot),
            State::Vacant => {
                arena.vacant.remove(&(span.address, slot));
            }
            State::Held | State::Waiting | State::Quarantined | State::Stale => {}
        }
    }

    /// Puts a span into the list of its arena that it belongs to.
    fn list(&mut self, slot: Slot) {
        let Stitched { arenas, spans, .. } = self;
        let span = &spans[slot];
        let arena = &mut arenas[span.arena.0 as usize];
        match span.state {
            State::Hole => arena.holes.insert(spans, slot),
            State::Vacant => {
                arena.vacant.insert((span.address, slot));
            }
            State::Held | State::Waiting | State::Quarantined | State::Stale => {}
        }
    }

    /// Lists a free span that was in no list, joined with neighbours in the same state.
    fn settle(&mut self, mut slot: Slot) -> Slot {
        let like = |spans: &Spans<K>, neighbour: Option<Slot>| {
            neighbour.filter(|neighbour| spans[*neighbour].state == spans[slot].state)
        };
        let (previous, next) = (self.spans[slot].previous, self.spans[slot].next);
        let (previous, next) = (like(&self.spans, previous), like(&self.spans, next));
        if let Some(next) = next {
            self.unlist(next);
            self.spans.join_next(slot);
        }
        if let Some(previous) = previous {
            self.unlist(previous);
            self.spans.join_next(previous);
            slot = previous;
        }
        self.list(slot);
        slot
    }

    /// Cuts the range out of a listed span; the parts before and after stay listed. The middle is
    /// in no list.
    fn cut_out(&mut self, mut slot: Slot, start: u64, end: u64) -> Slot {
        self.unlist(slot);
        if start > self.spans[slot].address {
            let rest = self.spans.cut(slot, start);
            self.list(slot);
            slot = rest;
        }
        if end < self.spans[slot].end() {
            let rest = self.spans.cut(slot, end);
            self.list(rest);
        }
        slot
    }

    /// Hands out `bytes` of a hole at an address, for a request of an arena.
    fn hand_out(
        &mut self,
        (hole, address): (Slot, u64),
        bytes: u64,
        requested: u64,
        holder: ArenaId,
    ) -> Block {
        let slot = self.cut_out(hole, address, address + bytes);
        let span = &mut self.spans[slot];
        span.state = State::Held;
        span.requested = requested;
        span.holder = holder;
        let is_recycled = std::mem::replace(&mut span.is_recycled, true);
        let own = span.arena;
        let last_use = self.spans[slot].uses.on(self.stream_of(own), self.stream_of(holder));
        let pool = self.arena(holder).pool;
        self.statistics.count_allocation(pool, bytes, requested);
        self.most_held = self.most_held.max(self.statistics.allocated_bytes.all.current);
        Block { slot, address: super::Address(address), bytes, last_use, is_recycled }
    }

    /// Ends the wait of freed memory for its uses, if there was one. If its pool has ended since,
    /// graphs used it, too.
    fn complete_free(&mut self, slot: Slot) {
        let span = &mut self.spans[slot];
        let arena = &self.arenas[span.arena.0 as usize];
        for (stream, last) in &arena.uses_of_graphs {
            span.uses.add(arena.home.stream, *stream, *last);
        }
        span.freed = self.operations;
        let (bytes, requested) = (span.bytes, std::mem::take(&mut span.requested));
        let pool = self.arenas[span.holder.0 as usize].pool;
        self.statistics.count_free_completed(pool, bytes, requested);
        self.make_available(slot);
    }

    /// Makes a hole of memory that is in no list.
    fn make_hole(&mut self, slot: Slot) {
        self.spans[slot].state = State::Hole;
        self.settle(slot);
    }

    /// Whether there may be a page or more besides what there are, before memory moves.
    fn is_generous(&self, missing: u64, bytes: u64) -> bool {
        self.pages + missing <= self.generous_pages(bytes)
    }

    /// The pages that there may be before memory moves, if `bytes` more were held.
    ///
    /// A program that makes memory move again and again is given more of it, until it does not: for
    /// some calls beyond what is due, a page.
    fn generous_pages(&self, bytes: u64) -> u64 {
        let held = self.statistics.allocated_bytes.all.current + bytes;
        let most = self.most_held.max(held);
        let due = CALLS_DUE_PER_PAGE * self.pages + self.operations / OPERATIONS_PER_CALL_DUE;
        let bought = self.calls.saturating_sub(due) / CALLS_FOR_A_PAGE;
        (most + most / 50).div_ceil(PAGE) + self.quarantine.pages() + bought
    }
}

impl<K: StreamName> Default for Stitched<K> {
    fn default() -> Self {
        Self::new()
    }
}
