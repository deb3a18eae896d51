//! What a program and its source know of memory, without asking the policy: who holds which
//! addresses, what is mapped there, and what work is under way.

use std::collections::BTreeMap;
use std::ops::Range;

use gpu_alloc::policy::{Address, Physical, PoolId, PoolOf, Retention, SourceCall, StreamAndPool};

use super::STREAMS;
use super::rules::Rules;

/// Addresses that came from the source at once: a segment, or a reservation.
#[derive(Debug, Clone)]
pub(crate) struct Ground {
    pub(crate) range: Range<u64>,
    /// Who asked for something when it came.
    pub(crate) home: StreamAndPool<usize>,
    /// Whether what was asked for then is small, by the policy's rules.
    pub(crate) is_small: bool,
    /// Whether there is memory behind all of it.
    pub(crate) is_segment: bool,
}

/// A block that somebody has, or had and whose memory waits.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub(crate) range: Range<u64>,
    /// The work that it waits for, once it was freed.
    pub(crate) awaits: Option<Vec<(usize, u64)>>,
}

/// All that happened, as far as it matters now.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) grounds: Vec<Ground>,
    pub(crate) pieces: BTreeMap<Physical, u64>,
    /// What is mapped, by address.
    pub(crate) mapped: BTreeMap<u64, (Physical, u64)>,
    /// Where each piece was mapped last, and is used.
    pub(crate) newest: BTreeMap<Physical, u64>,
    pub(crate) taken: Vec<Taken>,
    pub(crate) enqueued: [u64; STREAMS],
    pub(crate) completed: [u64; STREAMS],
    /// How often each pool has ended. A new one has another name.
    pub(crate) ended: [u64; super::POOLS],
}

impl World {
    /// Takes note of calls to the source, for a request of somebody if they were made for one.
    pub(crate) fn see(
        &mut self,
        calls: &[SourceCall],
        request: Option<(StreamAndPool<usize>, bool)>,
    ) {
        for call in calls {
            match *call {
                SourceCall::Allocated { address, bytes } => {
                    self.settle((address, bytes), request, true);
                }
                SourceCall::Reserved { address, bytes } => {
                    self.settle((address, bytes), request, false);
                }
                SourceCall::Released { address, .. } | SourceCall::Unreserved { address, .. } => {
                    self.grounds.retain(|ground| ground.range.start != address.0);
                }
                SourceCall::Created { physical, bytes } => {
                    self.pieces.insert(physical, bytes);
                }
                SourceCall::Destroyed { physical, .. } => {
                    self.pieces.remove(&physical);
                    self.newest.remove(&physical);
                }
                SourceCall::Mapped { address, physical, bytes } => {
                    self.mapped.insert(address.0, (physical, bytes));
                    self.newest.insert(physical, address.0);
                }
                SourceCall::Unmapped { address, bytes } => {
                    self.mapped.retain(|at, _| !(address.0..address.0 + bytes).contains(at));
                }
                SourceCall::Refused { .. }
                | SourceCall::ReserveRefused { .. }
                | SourceCall::CreateRefused { .. }
                | SourceCall::MapRefused { .. }
                | SourceCall::AccessSet { .. }
                | SourceCall::AccessRefused { .. } => {}
            }
        }
    }

    fn settle(
        &mut self,
        (address, bytes): (Address, u64),
        request: Option<(StreamAndPool<usize>, bool)>,
        is_segment: bool,
    ) {
        let (home, is_small) = request.expect("memory is taken for requests only");
        let range = address.0..address.0 + bytes;
        self.grounds.push(Ground { range, home, is_small, is_segment });
    }

    pub(crate) fn ground_of(&self, address: u64) -> &Ground {
        let ground = self.grounds.iter().find(|ground| ground.range.contains(&address));
        ground.expect("what was handed out came from the source")
    }

    /// What keeps what lies there, by the rules of a policy, held or not: graphs may use it; and a
    /// program's pool keeps it unless memory is stitched.
    pub(crate) fn keeper(&self, rules: Rules, ground: &Ground) -> Option<Retention> {
        let pool = ground.home.pool?;
        let is_living = (0..super::POOLS).any(|living| self.pool(living) == pool);
        match pool {
            _ if !is_living => None,
            PoolOf::Graphs(_) => Some(Retention::Graphs),
            PoolOf::Program(_) if rules == Rules::Stitched => None,
            PoolOf::Program(id) => Some(Retention::Pool(id)),
        }
    }

    pub(crate) fn is_kept(&self, rules: Rules, ground: &Ground) -> bool {
        self.keeper(rules, ground).is_some()
    }

    /// A pool under the name that it has now: the first serves graphs, the other one a program.
    pub(crate) fn pool(&self, pool: usize) -> PoolOf {
        let id = PoolId(pool as u64 + self.ended[pool] * super::POOLS as u64);
        if pool == 0 { PoolOf::Graphs(id) } else { PoolOf::Program(id) }
    }

    /// Forgets what is over.
    pub(crate) fn settle_work(&mut self) {
        let completed = self.completed;
        self.taken.retain_mut(|taken| {
            let Some(awaits) = &mut taken.awaits else { return true };
            awaits.retain(|(stream, sequence)| *sequence > completed[*stream]);
            !awaits.is_empty()
        });
    }

    /// What the program holds.
    pub(super) fn held(&self) -> u64 {
        let held = self.taken.iter().filter(|taken| taken.awaits.is_none());
        held.map(|taken| taken.range.end - taken.range.start).sum()
    }

    /// What of a range somebody holds, and what was freed and waits.
    pub(crate) fn claims(&self, range: &Range<u64>) -> (u64, u64) {
        let (mut held, mut waiting) = (0, 0);
        for taken in &self.taken {
            let part = overlap(&taken.range, range);
            *if taken.awaits.is_none() { &mut held } else { &mut waiting } += part;
        }
        (held, waiting)
    }

    /// The parts of a ground that nobody holds and that do not wait, in order.
    pub(crate) fn free_runs(&self, ground: &Ground) -> Vec<Range<u64>> {
        let mut taken: Vec<_> = self.taken.iter().map(|taken| taken.range.clone()).collect();
        taken.retain(|taken| overlap(taken, &ground.range) > 0);
        taken.sort_unstable_by_key(|taken| taken.start);
        let mut runs = Vec::new();
        let mut from = ground.range.start;
        for taken in taken {
            runs.push(from..taken.start);
            from = taken.end;
        }
        runs.push(from..ground.range.end);
        runs.retain(|run| !run.is_empty());
        runs
    }

    /// What is mapped where memory is used, in a part of the addresses. What a piece has left is not
    /// among it.
    pub(crate) fn used_mappings(
        &self,
        part: &Range<u64>,
    ) -> impl Iterator<Item = (Range<u64>, Physical)> {
        let below = self.mapped.range(..=part.start).next_back();
        let mapped = self.mapped.range(below.map_or(part.start, |(at, _)| *at)..part.end);
        let mapped = mapped.map(|(at, (physical, bytes))| (*at..at + bytes, *physical));
        let used =
            mapped.filter(|(range, physical)| self.newest.get(physical) == Some(&range.start));
        used.filter(move |(range, _)| overlap(range, part) > 0)
    }
}

/// How many bytes two ranges share.
pub(crate) fn overlap(a: &Range<u64>, b: &Range<u64>) -> u64 {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}
