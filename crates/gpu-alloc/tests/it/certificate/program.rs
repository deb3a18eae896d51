//! Random programs that run out of memory, and go on.

use gpu_alloc::policy::{
    AllocateError, Block, Limit, Log, OutOfMemoryReport, SourceCall, StreamAndPool,
};
use proptest::prelude::*;

use super::check::Refusal;
use super::rules::{Request, Rules};
use super::tried::Tried;
use super::world::{Taken, World};
use super::{MIB, POOLS, STREAMS};
use crate::drawn::Draws;
use crate::test_source::{Fault, TestSource};

#[derive(Debug, Clone)]
pub(super) enum Step {
    Allocate {
        stream: usize,
        pool: Option<usize>,
        bytes: u64,
    },
    /// A block is used on some streams, then freed.
    Free {
        block: usize,
        used_on: [bool; STREAMS],
    },
    /// Some of a stream's work is over.
    Complete {
        stream: usize,
        part: u8,
    },
    Release,
    EndPool {
        pool: usize,
    },
    /// A later call to the source fails.
    Fail {
        after: u32,
        broken: bool,
    },
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let stream = || 0..STREAMS;
    let bytes = prop_oneof![
        3 => 1..4000_u64,
        2 => 1..MIB,
        4 => MIB..9 * MIB,
        2 => 9 * MIB..24 * MIB,
    ];
    prop_oneof![
        12 => (stream(), prop::option::weighted(0.15, 0..POOLS), bytes)
            .prop_map(|(stream, pool, bytes)| Step::Allocate { stream, pool, bytes }),
        9 => (any::<usize>(), any::<[bool; STREAMS]>())
            .prop_map(|(block, used_on)| Step::Free { block, used_on }),
        2 => (stream(), any::<u8>()).prop_map(|(stream, part)| Step::Complete { stream, part }),
        1 => Just(Step::Release),
        1 => (0..POOLS).prop_map(|pool| Step::EndPool { pool }),
        1 => (0..8_u32, any::<bool>()).prop_map(|(after, broken)| Step::Fail { after, broken }),
    ]
}

pub(super) fn drawn_step(draws: &mut Draws<'_>) -> Step {
    let stream = |draws: &mut Draws<'_>| draws.one_of(STREAMS);
    match draws.below(12) {
        0..5 => {
            let pool = draws.one_of(6).checked_sub(4);
            Step::Allocate { stream: stream(draws), pool, bytes: draws.size(24) }
        }
        5..8 => {
            Step::Free { block: draws.index(), used_on: [(); STREAMS].map(|()| draws.is_set()) }
        }
        8 => Step::Complete { stream: stream(draws), part: draws.index() as u8 },
        9 => Step::Release,
        10 => Step::EndPool { pool: draws.one_of(POOLS) },
        _ => Step::Fail { after: draws.below(8) as u32, broken: draws.is_set() },
    }
}

/// A policy at work, and what is known of it from outside.
pub(super) struct Run<P> {
    rules: Rules,
    pub(super) policy: P,
    pub(super) source: Log<Limit<TestSource>>,
    capacity: u64,
    pub(super) world: World,
    held: Vec<(Block, StreamAndPool<usize>)>,
    /// How many requests were refused for good.
    pub(super) refusals: u64,
}

impl<P: Tried> Run<P> {
    pub(super) fn new(rules: Rules, policy: P, capacity: u64, limit: Option<u64>) -> Run<P> {
        Run {
            rules,
            policy,
            source: Log::new(Limit::new(TestSource::new(capacity), limit)),
            capacity: limit.map_or(capacity, |limit| limit.min(capacity)),
            world: World::default(),
            held: Vec::new(),
            refusals: 0,
        }
    }

    pub(super) fn make(&mut self, step: &Step) {
        match *step {
            Step::Allocate { stream, pool, bytes } => {
                let pool = pool.filter(|_| P::HAS_POOLS).map(|pool| self.world.pool(pool));
                self.allocate(bytes, StreamAndPool { stream, pool });
            }
            Step::Free { block, used_on } => {
                if !self.held.is_empty() {
                    let (block, home) = self.held.swap_remove(block % self.held.len());
                    self.free(block, home, used_on);
                }
            }
            Step::Complete { stream, part } => {
                let open = self.world.enqueued[stream] - self.world.completed[stream];
                self.world.completed[stream] += open * u64::from(part) / 255;
                self.tell();
            }
            Step::Release => {
                self.policy.release_cached(&mut self.source);
            }
            Step::EndPool { pool } => {
                self.policy.end_pool(self.world.pool(pool).id(), &[]);
                self.world.ended[pool] += 1;
            }
            Step::Fail { after, broken } => {
                let fault = if broken { Fault::Broken } else { Fault::Exhausted };
                self.source.source_mut().source_mut().fail(after, fault);
            }
        }
        let calls = self.source.take_calls();
        self.world.see(&calls, None);
        self.check_conservation();
    }

    /// All that was taken and not given back is shown, with what is held and what waits of it; but for
    /// what is mapped nowhere, and for places that memory has left.
    fn check_conservation(&self) {
        let made: u64 = self.world.pieces.values().sum();
        let segments = self.world.grounds.iter().filter(|ground| ground.is_segment);
        let segments: u64 = segments.map(|ground| ground.range.end - ground.range.start).sum();
        assert_eq!(made + segments, self.source.source().held(), "nothing is lost");
        let Some(snapshot) = self.policy.shown() else { return };
        let mut shown = 0;
        for segment in snapshot {
            let range = segment.address.0..segment.address.0 + segment.total_size;
            let (held, waiting) = self.world.claims(&range);
            assert_eq!((segment.allocated_size, segment.active_size), (held, held + waiting));
            shown += segment.total_size;
        }
        let everywhere = 0..u64::MAX;
        let mapped =
            self.world.used_mappings(&everywhere).map(|(range, _)| range.end - range.start);
        assert_eq!(shown, segments + mapped.sum::<u64>(), "what is used is shown");
    }

    /// Makes a request as a program does: when it is refused, all work is waited for, and it is made
    /// once more. Each refusal is checked.
    pub(super) fn allocate(&mut self, bytes: u64, home: StreamAndPool<usize>) {
        for is_last in [false, true] {
            // A policy may forget how far streams have come.
            self.tell();
            match self.request(bytes, home) {
                Err(AllocateError::OutOfMemory(_)) if !is_last => {
                    self.world.completed = self.world.enqueued;
                }
                Err(AllocateError::OutOfMemory(_)) => self.refusals += 1,
                Err(_) => return,
                Ok(block) => return self.held.push((block, home)),
            }
        }
    }

    fn request(
        &mut self,
        requested: u64,
        home: StreamAndPool<usize>,
    ) -> Result<Block, AllocateError<()>> {
        let request = Request { rules: self.rules, requested, home };
        let is_to_fail = |run: &Self| run.source.source().source().is_to_fail();
        let was_to_fail = is_to_fail(self);
        let outcome = self.policy.allocate(&mut self.source, requested, P::home(home));
        let calls: Vec<SourceCall> = self.source.take_calls();
        self.world.see(&calls, Some((home, request.is_small())));
        match outcome {
            Ok(block) => {
                let range = block.address().0..block.address().0 + block.bytes();
                assert_eq!(self.world.claims(&range), (0, 0), "what is held is nobody else's");
                self.world.taken.push(Taken { range, awaits: None });
                Ok(block)
            }
            Err(AllocateError::OutOfMemory(report)) => {
                let has_failed = was_to_fail && !is_to_fail(self);
                let capacity = self.capacity;
                let refusal = Refusal { request, calls: &calls, capacity, has_failed };
                if let Err(wrong) = refusal.check(&self.world, &report) {
                    panic!("{wrong}, where {request:?} was refused: {}", report.certificate);
                }
                Err(AllocateError::OutOfMemory(report))
            }
            Err(_) => Err(AllocateError::Source(())),
        }
    }

    /// Asks for what there is not; what the policy says.
    pub(super) fn refused(
        &mut self,
        requested: u64,
        home: StreamAndPool<usize>,
    ) -> (OutOfMemoryReport, Vec<SourceCall>) {
        let outcome = self.policy.allocate(&mut self.source, requested, P::home(home));
        let calls = self.source.take_calls();
        self.world.see(&calls, None);
        match outcome {
            Err(AllocateError::OutOfMemory(report)) => (*report, calls),
            other => panic!("it should be refused: {other:?}"),
        }
    }

    fn free(&mut self, block: Block, home: StreamAndPool<usize>, used_on: [bool; STREAMS]) {
        let mut uses = Vec::new();
        for stream in (0..STREAMS).filter(|stream| used_on[*stream]) {
            self.world.enqueued[stream] += 1;
            uses.push((stream, self.world.enqueued[stream]));
        }
        let start = block.address().0;
        let waits = self.policy.waits_before_reuse(&block);
        let taken = self.world.taken.iter_mut().find(|taken| taken.range.start == start);
        let is_waited_for = |stream| waits && P::waits_for_use_on(stream, home);
        let awaits = uses.iter().copied().filter(|(stream, _)| is_waited_for(*stream));
        taken.expect("what is held is known").awaits = Some(awaits.collect());
        self.policy.free(block, &uses).expect("the block is the policy's own");
        self.world.settle_work();
    }

    /// Tells the policy how far the streams have come.
    fn tell(&mut self) {
        for (stream, completed) in self.world.completed.iter().enumerate() {
            self.policy.completed(stream, *completed);
        }
        self.world.settle_work();
    }
}
