//! The rules by which a policy may place a block, searched without any cleverness.

use std::ops::Range;

use gpu_alloc::policy::{PoolOf, StreamAndPool};

use super::MIB;
use super::world::{Ground, World, overlap};

/// The page of virtual memory.
pub(crate) const PAGE: u64 = 2 * MIB;

/// Whose rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// PyTorch's, with segments.
    Native,
    /// PyTorch's, with pages that are mapped in a row.
    Expandable,
    /// Those of stitched memory.
    Stitched,
    /// Those of page-locked memory.
    Pinned,
}

/// A request, in one policy's terms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) rules: Rules,
    pub(crate) requested: u64,
    pub(crate) home: StreamAndPool<usize>,
}

impl Request {
    /// The bytes of its block.
    pub(crate) fn block(&self) -> u64 {
        self.requested.max(1).next_multiple_of(512)
    }

    /// Whether PyTorch keeps its memory with that of small ones.
    pub(crate) fn is_small(&self) -> bool {
        self.block() <= MIB
    }

    /// What PyTorch asks a source for: a segment, or a page.
    pub(crate) fn unit(&self) -> u64 {
        match (self.rules, self.block()) {
            (Rules::Stitched, _) => PAGE,
            (Rules::Pinned, block) => block.next_multiple_of(4096),
            (_, ..=MIB) => 2 * MIB,
            (Rules::Native, block) if block >= 10 * MIB => block.next_multiple_of(2 * MIB),
            _ => 20 * MIB,
        }
    }

    /// Where its block may lie: in PyTorch's memory of its stream, its pool and its kind; in stitched
    /// memory wherever graphs do not keep it, also in a program's pools, and for graphs in their own;
    /// page-locked memory serves all.
    fn grounds<'a>(&'a self, world: &'a World) -> impl Iterator<Item = &'a Ground> {
        world.grounds.iter().filter(move |ground| match (self.rules, self.home.pool) {
            (Rules::Native | Rules::Expandable, _) => {
                (ground.home, ground.is_small) == (self.home, self.is_small())
            }
            (Rules::Stitched, Some(PoolOf::Graphs(_))) => ground.home == self.home,
            (Rules::Stitched, _) => !world.is_kept(self.rules, ground),
            (Rules::Pinned, _) => true,
        })
    }

    /// The longest run of free memory that the request may have as it is.
    pub(crate) fn largest_run(&self, world: &World) -> u64 {
        let mut longest = 0;
        for ground in self.grounds(world) {
            for free in world.free_runs(ground) {
                if ground.is_segment {
                    longest = longest.max(free.end - free.start);
                    continue;
                }
                let mut run = 0..0;
                for (mapped, _) in world.used_mappings(&free) {
                    let part = mapped.start.max(free.start)..mapped.end.min(free.end);
                    let start = if part.start == run.end { run.start } else { part.start };
                    run = start..part.end;
                    longest = longest.max(run.end - run.start);
                }
            }
        }
        longest
    }

    /// How many units the request is short of, wherever it is placed, when all units that can be had
    /// are had. More than 0 if it cannot be served.
    ///
    /// That is so when no work is under way any more: all that nobody holds can be given back then,
    /// and taken again as is needed.
    pub(crate) fn shortage(&self, world: &World, capacity: u64) -> u64 {
        if self.largest_run(world) >= self.block() {
            return 0;
        }
        let bound: u64 = match self.rules {
            Rules::Native | Rules::Pinned => {
                let bound = |ground: &&Ground| {
                    world.is_kept(self.rules, ground) || world.claims(&ground.range) != (0, 0)
                };
                world.grounds.iter().filter(bound).map(|g| whole(&g.range)).sum()
            }
            Rules::Expandable | Rules::Stitched => {
                let pieces = world.pieces.iter();
                pieces
                    .filter(|(piece, _)| world.is_bound(self.rules, **piece))
                    .map(|(_, bytes)| bytes)
                    .sum()
            }
        };
        // The model of a device gives out whole pages.
        let available = (capacity - bound) / self.unit().next_multiple_of(PAGE);
        self.least_needed(world).saturating_sub(available)
    }

    /// The fewest units that the request needs besides those that it shares with others.
    fn least_needed(&self, world: &World) -> u64 {
        let fresh = match self.rules {
            Rules::Native | Rules::Pinned => 1,
            Rules::Expandable | Rules::Stitched => self.block().div_ceil(self.unit()),
        };
        match self.rules {
            Rules::Native | Rules::Pinned => fresh,
            // The lowest that is long enough, and no other.
            Rules::Expandable => {
                let runs = self.grounds(world).flat_map(|ground| world.free_runs(ground));
                let fits = runs.filter(|run| run.end - run.start >= self.block());
                let first = fits.min_by_key(|run| run.start);
                first.map_or(fresh, |run| self.needed_at(world, run.start))
            }
            Rules::Stitched => {
                let runs = self.grounds(world).flat_map(|ground| world.free_runs(ground));
                let fits = runs.filter(|run| run.end - run.start >= self.block());
                let starts = fits.flat_map(|run| {
                    let below = world.mapped.range(..run.end).next_back();
                    let top = below.map_or(0, |(at, (_, bytes))| at + bytes);
                    self.starts(&run, top).collect::<Vec<_>>()
                });
                starts.map(|start| self.needed_at(world, start)).min().unwrap_or(fresh).min(fresh)
            }
        }
    }

    /// Every place in a run of addresses, but for those between which no page comes in or goes out, and
    /// those above all that is mapped before the run's end: there are many in a reservation.
    fn starts(&self, run: &Range<u64>, top: u64) -> impl Iterator<Item = u64> {
        let block = self.block();
        let (first, last) = (run.start, (run.end - block).min(run.start.max(top)));
        let in_between = first..last + 1;
        let begins = (first / PAGE..=last / PAGE).map(|page| page * PAGE);
        let ends = (first / PAGE..=(last + block) / PAGE)
            .map(move |page| (page * PAGE).wrapping_sub(block));
        let all = [first, last].into_iter().chain(begins).chain(ends);
        all.filter(move |start| in_between.contains(start))
    }

    /// The units of a place in which nothing is mapped that must stay anyway.
    fn needed_at(&self, world: &World, start: u64) -> u64 {
        let block = start..start + self.block();
        let ground = world.ground_of(start).range.start;
        let unit = self.unit();
        let pages = (block.start - ground) / unit..(block.end - ground).div_ceil(unit);
        let stays = |page: &u64| {
            let page = ground + page * unit..ground + (page + 1) * unit;
            world.used_mappings(&page).any(|(_, piece)| world.is_bound(self.rules, piece))
        };
        pages.filter(|page| !stays(page)).count() as u64
    }
}

impl World {
    /// Whether a piece of physical memory has to stay where it is: somebody holds a part of it, or a
    /// pool keeps it.
    pub(crate) fn is_bound(&self, rules: Rules, piece: gpu_alloc::policy::Physical) -> bool {
        let mappings = self.mapped.iter().filter(|(_, (physical, _))| *physical == piece);
        let mut ranges = mappings.map(|(at, (_, bytes))| *at..at + bytes);
        let is_used = |at: u64| self.newest.get(&piece) == Some(&at);
        ranges.any(|range| {
            self.claims(&range) != (0, 0)
                || (is_used(range.start) && self.is_kept(rules, self.ground_of(range.start)))
        })
    }
}

/// What a segment takes of a device.
fn whole(range: &Range<u64>) -> u64 {
    overlap(range, range).next_multiple_of(PAGE)
}
