//! PyTorch's policy against a model that knows every byte's users and searches everything.

mod naive;

use std::ops::Range;

use gpu_alloc::policy::{
    Address, AllocateError, Block, BlockState, Inspect, Log, Policy, PoolId, PoolOf, Pytorch,
    SegmentSnapshot, SourceCall, StreamAndPool,
};
use proptest::prelude::*;

use self::naive::Rules;
use crate::device_model::DeviceModel;
use crate::drawn::Draws;
use crate::effort;
use crate::test_source::{Broken, Fault, TestSource};

const STREAMS: usize = 3;
/// Pools that are kept apart. One that has ended is another one afterwards.
const POOLS: u64 = 2;
const MIB: u64 = 1 << 20;

#[derive(Debug, Clone)]
enum Step {
    Allocate { bytes: u64, stream: usize, pool: Option<u64> },
    EndPool { pool: u64 },
    Free { which: usize, users: Vec<usize> },
    Complete { stream: usize, part: f64 },
    Release,
    Fail { after: u32, fault: Fault },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = prop_oneof![
        4 => 1..3000u64,
        2 => 3000..=MIB,
        3 => MIB + 1..10 * MIB,
        1 => 10 * MIB..40 * MIB,
    ];
    let fault = prop_oneof![Just(Fault::Exhausted), Just(Fault::Broken)];
    let step = prop_oneof![
        8 => (bytes, 0..STREAMS, prop::option::weighted(0.3, 0..POOLS))
            .prop_map(|(bytes, stream, pool)| Step::Allocate { bytes, stream, pool }),
        1 => (0..POOLS).prop_map(|pool| Step::EndPool { pool }),
        7 => (any::<usize>(), prop::collection::vec(0..STREAMS, 0..4))
            .prop_map(|(which, users)| Step::Free { which, users }),
        3 => (0..STREAMS, 0.0..1.2).prop_map(|(stream, part)| Step::Complete { stream, part }),
        1 => Just(Step::Release),
        1 => (0..12u32, fault).prop_map(|(after, fault)| Step::Fail { after, fault }),
    ];
    prop::collection::vec(step, effort::steps(120))
}

/// A block that the program holds, or that waits for uses after it was freed.
#[derive(Debug)]
struct Held {
    range: Range<u64>,
    requested: u64,
    /// `None` once it was freed.
    block: Option<Block>,
    awaits: Vec<(usize, u64)>,
}

/// Work that touched some memory.
#[derive(Debug)]
struct Use {
    range: Range<u64>,
    stream: usize,
    sequence: u64,
}

struct Model {
    rules: Rules,
    policy: Pytorch<usize>,
    source: Log<TestSource>,
    held: Vec<Held>,
    uses: Vec<Use>,
    /// How often each pool has ended.
    ended: [u64; POOLS as usize],
    enqueued: [u64; STREAMS],
    completed: [u64; STREAMS],
}

const CAPACITY: u64 = 160 * MIB;

const NATIVE: Rules = Rules { max_split: u64::MAX, expandable: false };
const OVERSIZE: Rules = Rules { max_split: 20 * MIB, expandable: false };
const EXPANDABLE: Rules = Rules { max_split: u64::MAX, expandable: true };

proptest! {
    #![proptest_config(effort::cases(200))]

    #[test]
    fn every_step_leaves_the_policy_as_the_model_says(steps in steps()) {
        Model::new(NATIVE, "", TestSource::new(CAPACITY)).run_all(&steps);
    }

    #[test]
    fn every_step_leaves_expandable_segments_as_the_model_says(steps in steps()) {
        let source = TestSource::new(CAPACITY);
        Model::new(EXPANDABLE, "expandable_segments:True", source).run_all(&steps);
    }

    #[test]
    fn without_virtual_memory_segments_that_should_expand_are_plain(steps in steps()) {
        let source = TestSource::without_virtual_memory(CAPACITY);
        Model::new(NATIVE, "expandable_segments:True", source).run_all(&steps);
    }

    #[test]
    fn every_step_leaves_oversize_blocks_and_old_segments_as_the_model_says(steps in steps()) {
        let options = "max_split_size_mb:20,garbage_collection_threshold:0.4";
        let mut model = Model::new(OVERSIZE, options, TestSource::new(CAPACITY));
        model.policy.set_memory_limit(Some(CAPACITY));
        model.run_all(&steps);
    }
}

/// Runs a program that is drawn, in one of the ways above.
pub(crate) fn run_drawn(draws: &mut Draws<'_>) {
    let (rules, options) = match draws.below(3) {
        0 => (NATIVE, ""),
        1 => (EXPANDABLE, "expandable_segments:True"),
        _ => (OVERSIZE, "max_split_size_mb:20"),
    };
    let steps = draws.steps(120, |draws| match draws.below(12) {
        0..4 => Step::Allocate {
            bytes: draws.size(25),
            stream: draws.one_of(STREAMS),
            pool: draws.below(3 * POOLS).checked_sub(2 * POOLS),
        },
        4..8 => Step::Free {
            which: draws.index(),
            users: (0..STREAMS).filter(|_| draws.is_set()).collect(),
        },
        8 => Step::Complete { stream: draws.one_of(STREAMS), part: draws.below(13) as f64 / 10.0 },
        9 => Step::Release,
        10 => Step::EndPool { pool: draws.below(POOLS) },
        _ => Step::Fail { after: draws.below(12) as u32, fault: draws.fault() },
    });
    Model::new(rules, options, TestSource::new(CAPACITY)).run_all(&steps);
}

impl Model {
    fn new(rules: Rules, options: &str, source: TestSource) -> Self {
        let options = options.parse().expect("the options are well formed");
        Model {
            rules,
            policy: Pytorch::with_options(options, CAPACITY),
            source: Log::new(source),
            held: Vec::new(),
            uses: Vec::new(),
            ended: [0; POOLS as usize],
            enqueued: [0; STREAMS],
            completed: [0; STREAMS],
        }
    }

    fn run_all(mut self, steps: &[Step]) {
        for step in steps {
            self.run(step);
            self.check();
        }
        self.wind_down();
    }

    fn device(&self) -> &DeviceModel {
        self.source.source().device()
    }

    fn run(&mut self, step: &Step) {
        let (calls, before) = (self.source.calls().len(), self.policy.snapshot());
        match step {
            Step::Allocate { bytes, stream, pool } => {
                let pool = pool.map(|pool| PoolOf::Graphs(self.pool(pool)));
                self.allocate(*bytes, StreamAndPool { stream: *stream, pool });
            }
            Step::EndPool { pool } => {
                self.policy.end_pool(self.pool(*pool), &[]);
                self.ended[*pool as usize] += 1;
            }
            Step::Free { which, users } => self.free(*which, users),
            Step::Complete { stream, part } => self.complete(*stream, *part),
            Step::Release => {
                let before = self.policy.statistics().reserved_bytes.all.current;
                let released = self.policy.release_cached(&mut self.source);
                assert_eq!(self.policy.statistics().reserved_bytes.all.current, before - released);
                self.check_nothing_left_to_release();
                let with_memory = |range: Range<u64>| {
                    self.device().mappings().any(|(address, ..)| range.contains(&address.0))
                };
                assert!(naive::reservations(self.device()).all(with_memory), "empty ranges go");
            }
            Step::Fail { after, fault } => self.source.source_mut().fail(*after, *fault),
        }
        self.check_releases(calls, &before);
    }

    /// The name that a pool has now.
    fn pool(&self, pool: u64) -> PoolId {
        PoolId(pool + self.ended[pool as usize] * POOLS)
    }

    /// Whether graphs may use a segment's memory.
    fn is_of_graphs(&self, segment: &SegmentSnapshot<usize>) -> bool {
        segment.pool.is_some_and(|pool| (0..POOLS).any(|living| self.pool(living) == pool.id()))
    }

    fn allocate(&mut self, bytes: u64, home: StreamAndPool<usize>) {
        let before = self.policy.snapshot();
        let stream = home.stream;
        let expected = self.rules.best_fit(&before, self.device(), bytes, home);
        let calls = self.source.calls().len();
        match self.policy.allocate(&mut self.source, bytes, home) {
            Ok(block) => {
                let range = block.address().0..block.address().0 + block.bytes();
                if let Some((address, hole)) = expected {
                    assert_eq!(range.start, address, "best fit, lowest address");
                    assert_eq!(
                        self.source.calls().len(),
                        calls,
                        "reuse asks the source for nothing"
                    );
                    assert_eq!(block.bytes(), self.rules.handed_out(bytes, hole));
                }
                self.check_free_for(&range, stream, block.last_use());
                self.held.push(Held {
                    range,
                    requested: bytes,
                    block: Some(block),
                    awaits: vec![],
                });
            }
            Err(AllocateError::OutOfMemory(report)) => {
                assert!(expected.is_none(), "what fits is handed out");
                assert_eq!(report.requested, bytes);
                assert_eq!(report.reserved, self.policy.statistics().reserved_bytes.all.current);
                let unsuited = self.rules.max_split < u64::MAX;
                assert!(report.largest_free_block < naive::rounded(bytes) || unsuited);
                self.check_nothing_left_to_release();
            }
            Err(AllocateError::Source(Broken)) => assert!(expected.is_none()),
            Err(AllocateError::Misplaced(wrong)) => panic!("{wrong}"),
        }
    }

    fn free(&mut self, which: usize, users: &[usize]) {
        let live: Vec<_> = (0..self.held.len()).filter(|i| self.held[*i].block.is_some()).collect();
        if live.is_empty() {
            return;
        }
        let held = &mut self.held[live[which % live.len()]];
        let mut uses = Vec::new();
        for &stream in users {
            self.enqueued[stream] += 1;
            let sequence = self.enqueued[stream];
            uses.push((stream, sequence));
            self.uses.push(Use { range: held.range.clone(), stream, sequence });
        }
        // The order in which the uses are given must not matter.
        uses.reverse();
        let home = naive::home(&self.policy.snapshot(), held.range.start);
        held.awaits =
            uses.iter().map(|use_| (use_.0, use_.1)).filter(|(s, _)| *s != home).collect();
        let block = held.block.take().expect("only live blocks are picked");
        self.policy.free(block, &uses).expect("the block is the policy's own");
        self.forget_what_is_done();
    }

    fn complete(&mut self, stream: usize, part: f64) {
        let open = (self.enqueued[stream] - self.completed[stream]) as f64;
        let step = ((open * part) as u64).min(self.enqueued[stream] - self.completed[stream]);
        self.completed[stream] += step;
        self.policy.completed(stream, self.completed[stream]);
        self.forget_what_is_done();
    }

    fn forget_what_is_done(&mut self) {
        let completed = self.completed;
        let open = |stream: usize, sequence: u64| sequence > completed[stream];
        self.uses.retain(|work| open(work.stream, work.sequence));
        for held in &mut self.held {
            held.awaits.retain(|(stream, sequence)| open(*stream, *sequence));
        }
        self.held.retain(|held| held.block.is_some() || !held.awaits.is_empty());
    }

    /// A new block touches nothing that is held, and unfinished work on it is its own stream's, and
    /// declared.
    fn check_free_for(&self, range: &Range<u64>, stream: usize, last_use: u64) {
        assert_eq!(range.start % 512, 0, "alignment");
        assert!(self.held.iter().all(|held| !overlap(&held.range, range)), "no overlap");
        for work in self.uses.iter().filter(|work| overlap(&work.range, range)) {
            assert_eq!(work.stream, stream, "reuse only after completion on other streams");
            assert!(work.sequence <= last_use, "unfinished work on the own stream is declared");
        }
    }

    fn check_releases(&self, since: usize, before: &[SegmentSnapshot<usize>]) {
        for call in &self.source.calls()[since..] {
            if let SourceCall::Released { address, bytes }
            | SourceCall::Unmapped { address, bytes } = call
            {
                let range = address.0..address.0 + bytes;
                let around =
                    |segment: &&SegmentSnapshot<usize>| overlap(&naive::addresses(segment), &range);
                let of_graphs = before.iter().filter(around).any(|s| self.is_of_graphs(s));
                assert!(!of_graphs, "graphs may use it");
                assert!(
                    self.uses.iter().all(|work| !overlap(&work.range, &range)),
                    "released in use"
                );
            }
        }
    }

    fn check_nothing_left_to_release(&self) {
        let awaited: Vec<_> = self.policy.awaited_for_release().map(|(stream, _)| stream).collect();
        for segment in &self.policy.snapshot() {
            assert!(
                !naive::has_unused(segment, self.device())
                    || segment.stream.is_some_and(|stream| awaited.contains(&stream))
                    || self.is_of_graphs(segment),
                "an unused segment or page stays only for its stream, or for graphs"
            );
        }
    }

    fn check(&self) {
        let segments = self.policy.snapshot();
        let of_source = naive::pieces(self.device());
        let of_policy: Vec<_> = segments.iter().map(naive::addresses).collect();
        assert_eq!(of_policy, of_source, "conservation: the segments are what the source gave");
        let bytes: u64 = segments.iter().map(|segment| segment.total_size).sum();
        assert_eq!(bytes, self.device().used(), "no memory is held that is not mapped");
        for segment in &segments {
            assert_eq!(segment.is_expandable, self.rules.expandable);
            naive::check_segment(segment);
        }
        let is_usable = |range: &Range<u64>| {
            self.device().is_usable(Address(range.start), range.end - range.start)
        };
        assert!(self.held.iter().all(|held| is_usable(&held.range)), "memory stays behind it");
        self.check_states(&segments);
        naive::check_statistics(&self.policy, &segments);
    }

    fn check_states(&self, segments: &[SegmentSnapshot<usize>]) {
        let mut active: Vec<_> = self.held.iter().collect();
        active.sort_by_key(|held| held.range.start);
        let blocks = segments.iter().flat_map(|segment| &segment.blocks);
        let of_policy: Vec<_> = blocks
            .filter(|block| block.state != BlockState::Inactive)
            .map(|block| (block.address.0, block.size, block.requested_size, block.state))
            .collect();
        let of_model: Vec<_> = active
            .iter()
            .map(|held| {
                let live = held.block.is_some();
                let state =
                    if live { BlockState::ActiveAllocated } else { BlockState::ActiveAwaitingFree };
                (held.range.start, held.range.end - held.range.start, held.requested, state)
            })
            .collect();
        assert_eq!(of_policy, of_model);
    }

    /// Frees everything, completes everything, releases everything.
    fn wind_down(mut self) {
        for held in &mut self.held {
            if let Some(block) = held.block.take() {
                self.policy.free(block, &[]).expect("the block is the policy's own");
            }
        }
        for stream in 0..STREAMS {
            self.policy.completed(stream, u64::MAX);
        }
        (0..POOLS).for_each(|pool| self.policy.end_pool(self.pool(pool), &[]));
        self.policy.release_cached(&mut self.source);
        assert!(self.device().is_untouched(), "nothing is lost");
        let reserved = self.policy.statistics().reserved_bytes.all;
        assert_eq!((reserved.current, reserved.allocated), (0, reserved.freed));
    }
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
