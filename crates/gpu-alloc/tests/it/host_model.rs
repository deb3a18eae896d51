//! The policy of page-locked memory against a model that knows what is held, and derives the rest.

use std::time::Duration;

use gpu_alloc::policy::{
    AllocateError, BestFit, Block, BlockState, Inspect, Limit, OutOfMemoryReport, Policy,
};
use proptest::prelude::*;

use crate::device_model::PAGE;
use crate::drawn::Draws;
use crate::effort;
use crate::test_source::{Fault, TestSource};

const STREAMS: usize = 2;
const CAPACITY: u64 = 10 * PAGE;
const MIB: u64 = 1 << 20;

#[derive(Debug, Clone)]
enum Step {
    Allocate { bytes: u64 },
    Free { which: usize, users: Vec<usize> },
    Complete { stream: usize },
    Release,
    Tick { after: u64, idle: u64 },
    Keep { bytes: u64 },
    Fail { after: u32, fault: Fault },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = prop_oneof![
        8 => 1..4_000u64,
        8 => 1..200_000u64,
        8 => 1..4 * MIB,
        1 => any::<u64>(),
    ];
    let fault = prop_oneof![Just(Fault::Exhausted), Just(Fault::Broken)];
    let users = prop::collection::vec(0..STREAMS, 0..3);
    let step = prop_oneof![
        24 => bytes.prop_map(|bytes| Step::Allocate { bytes }),
        20 => (any::<usize>(), users)
            .prop_map(|(which, users)| Step::Free { which, users }),
        8 => (0..STREAMS).prop_map(|stream| Step::Complete { stream }),
        2 => Just(Step::Release),
        2 => (0..9u64, 0..9u64).prop_map(|(after, idle)| Step::Tick { after, idle }),
        1 => (0..CAPACITY).prop_map(|bytes| Step::Keep { bytes }),
        4 => (0..2u32, fault).prop_map(|(after, fault)| Step::Fail { after, fault }),
    ];
    prop::collection::vec(step, effort::steps(150))
}

/// A block in use by the program, or by the listed streams.
#[derive(Debug)]
struct Held {
    address: u64,
    bytes: u64,
    block: Option<Block>,
    users: Vec<usize>,
}

/// What is free between what is held: size first, as the best fit is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Gap {
    bytes: u64,
    address: u64,
    is_whole_segment: bool,
}

struct Model {
    policy: BestFit<usize>,
    source: TestSource,
    held: Vec<Held>,
    sequence: u64,
    now: u64,
    keep: u64,
}

proptest! {
    #![proptest_config(effort::cases(300))]

    #[test]
    fn page_locked_memory_is_split_merged_and_given_back_as_the_model_says(steps in steps()) {
        Model::new().run_all(&steps);
    }
}

/// Runs a program that is drawn.
pub(crate) fn run_drawn(draws: &mut Draws<'_>) {
    let steps = draws.steps(150, |draws| match draws.below(10) {
        0..4 => Step::Allocate { bytes: draws.any_size(21) },
        4..7 => Step::Free {
            which: draws.index(),
            users: (0..STREAMS).filter(|_| draws.is_set()).collect(),
        },
        7 => Step::Complete { stream: draws.one_of(STREAMS) },
        8 => match draws.below(3) {
            0 => Step::Release,
            1 => Step::Tick { after: draws.below(9), idle: draws.below(9) },
            _ => Step::Keep { bytes: draws.size(24) },
        },
        _ => Step::Fail { after: draws.below(2) as u32, fault: draws.fault() },
    });
    Model::new().run_all(&steps);
}

impl Model {
    fn new() -> Model {
        let (policy, source) = (BestFit::new(), TestSource::new(CAPACITY));
        Model { policy, source, held: Vec::new(), sequence: 0, now: 0, keep: u64::MAX }
    }

    fn run_all(mut self, steps: &[Step]) {
        for step in steps {
            self.run(step);
            self.check();
        }
        self.end();
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Allocate { bytes } => self.allocate(*bytes),
            Step::Free { which, users } => self.free(*which, users),
            Step::Complete { stream } => self.complete(*stream),
            Step::Release => {
                let unused = self.unused();
                assert_eq!(self.policy.release_cached(&mut self.source), unused);
                assert_eq!(self.unused(), 0, "all that is unused went");
            }
            Step::Tick { after, idle } => {
                self.now += after;
                let (now, idle) = (Duration::from_secs(self.now), Duration::from_secs(*idle));
                let before = self.unused();
                let released = self.policy.tick(&mut self.source, now, idle);
                assert_eq!(self.unused(), before - released);
                assert!(self.unused() <= if idle.is_zero() { 0 } else { self.keep });
            }
            Step::Keep { bytes } => {
                self.keep = *bytes;
                self.policy.set_keep(*bytes);
            }
            Step::Fail { after, fault } => self.source.fail(*after, *fault),
        }
    }

    /// All gaps, by size and then address, each as large as what is held leaves it: that the policy
    /// searches the same ones is that it merges all that can be.
    fn gaps(&self) -> Vec<Gap> {
        let mut gaps = Vec::new();
        for (start, bytes) in self.source.given() {
            let end = start.0 + bytes;
            let mut inside: Vec<_> =
                self.held.iter().filter(|held| (start.0..end).contains(&held.address)).collect();
            inside.sort_by_key(|held| held.address);
            let is_whole_segment = inside.is_empty();
            let mut from = start.0;
            let ends = inside.iter().map(|held| (held.address, held.address + held.bytes));
            for (address, next) in ends.chain([(end, end)]) {
                assert!(address >= from, "blocks overlap, or reach beyond their segment");
                if address > from {
                    gaps.push(Gap { bytes: address - from, address: from, is_whole_segment });
                }
                from = next;
            }
        }
        gaps.sort_unstable();
        gaps
    }

    /// The bytes of the segments in which nothing is held.
    fn unused(&self) -> u64 {
        self.gaps().iter().filter(|gap| gap.is_whole_segment).map(|gap| gap.bytes).sum()
    }

    fn held_bytes(&self) -> u64 {
        self.held.iter().map(|held| held.bytes).sum()
    }

    fn reserved(&self) -> u64 {
        self.source.given().map(|(_, bytes)| bytes).sum()
    }

    fn allocate(&mut self, bytes: u64) {
        let (gaps, active) = (self.gaps(), self.held_bytes());
        let calls = self.source.device().calls();
        match self.policy.allocate(&mut self.source, bytes, ()) {
            Ok(block) => {
                let (address, size) = (block.address().0, block.bytes());
                assert_eq!(size, bytes.next_multiple_of(512));
                let best = gaps.iter().find(|gap| gap.bytes >= size);
                if let Some(best) = best {
                    assert_eq!(address, best.address, "the best fit");
                    assert_eq!(self.source.device().calls(), calls, "no call for what fits");
                } else {
                    let taken = self.segment_at(address);
                    let most = MIB.max(size + (active + size) / 8);
                    assert!(taken <= most, "{taken} bytes are taken for {size} with {active}");
                }
                self.held.push(Held { address, bytes: size, block: Some(block), users: vec![] });
                if best.is_none() {
                    assert!(self.unused() <= self.keep, "no more is kept than may be");
                }
            }
            Err(AllocateError::OutOfMemory(report)) => self.refused(&report),
            Err(_) => {}
        }
    }

    fn segment_at(&self, address: u64) -> u64 {
        let mut given = self.source.given();
        let segment = given.find(|(start, _)| start.0 == address);
        segment.map(|(_, bytes)| bytes).expect("a new segment begins with the request's block")
    }

    fn refused(&self, report: &OutOfMemoryReport) {
        let held = self.held_bytes();
        assert_eq!(self.unused(), 0, "nothing that could be given back is left");
        assert_eq!((report.allocated + report.pending, report.reserved), (held, self.reserved()));
        let largest = self.gaps().last().map_or(0, |gap| gap.bytes);
        assert_eq!(report.largest_free_block, largest);
        assert!(largest < report.rounded);
    }

    fn free(&mut self, which: usize, users: &[usize]) {
        let mut live: Vec<_> = self.held.iter_mut().filter(|held| held.block.is_some()).collect();
        if live.is_empty() {
            return;
        }
        let at = which % live.len();
        self.sequence += 1;
        let uses: Vec<_> = users.iter().map(|user| (*user, self.sequence)).collect();
        let block = live[at].block.take().expect("only live blocks are picked");
        self.policy.free(block, &uses).expect("the block is the policy's own");
        live[at].users = users.to_vec();
        self.forget_unused();
    }

    fn complete(&mut self, stream: usize) {
        self.policy.completed(stream, self.sequence);
        self.held.iter_mut().for_each(|held| held.users.retain(|user| *user != stream));
        self.forget_unused();
    }

    fn forget_unused(&mut self) {
        self.held.retain(|held| held.block.is_some() || !held.users.is_empty());
    }

    fn check(&self) {
        let statistics = self.policy.statistics();
        let gaps: u64 = self.gaps().iter().map(|gap| gap.bytes).sum();
        assert_eq!(statistics.active_requests.current, self.held.len() as u64);
        assert_eq!(statistics.active_bytes.current, self.held_bytes());
        assert_eq!(statistics.allocations.current, self.source.given().count() as u64);
        assert_eq!(statistics.allocated_bytes.current, self.held_bytes() + gaps);
        assert_eq!(statistics.allocated_bytes.current, self.reserved());
        assert_eq!(statistics.allocations.allocated, statistics.num_host_alloc);
        assert_eq!(statistics.allocations.freed, statistics.num_host_free);
        let awaited = self.policy.awaited_for_reuse().count();
        assert_eq!(awaited > 0, self.held.iter().any(|held| held.block.is_none()));
        self.check_snapshot();
    }

    /// The policy shows what the program has, segment by segment.
    fn check_snapshot(&self) {
        let segments = self.policy.snapshot();
        assert!(segments.iter().map(|of| (of.address, of.total_size)).eq(self.source.given()));
        let active = segments.iter().map(|segment| segment.active_size).sum::<u64>();
        assert_eq!(active, self.held_bytes());
        for segment in &segments {
            let mut end = segment.address.0;
            for block in &segment.blocks {
                assert_eq!(block.address.0, end, "blocks fill the segment");
                end += block.size;
                let waits = block.state == BlockState::ActiveAwaitingFree;
                assert_eq!(!block.waits_for.is_empty(), waits);
            }
            let pairs = segment.blocks.windows(2).map(|pair| [pair[0].state, pair[1].state]);
            assert!(pairs.into_iter().all(|pair| pair != [BlockState::Inactive; 2]));
        }
    }

    /// With everything free, each segment is one free block, and goes.
    fn end(&mut self) {
        for block in self.held.iter_mut().filter_map(|held| held.block.take()) {
            self.policy.free(block, &[]).expect("the block is the policy's own");
        }
        (0..STREAMS).for_each(|stream| self.complete(stream));
        assert!(self.gaps().iter().all(|gap| gap.is_whole_segment));
        self.run(&Step::Release);
        assert!(self.source.device().is_untouched());
        self.check();
    }
}

#[test]
fn neighbours_merge_when_the_last_use_between_them_is_over() {
    let mut model = Model::new();
    let block = |model: &mut Model| {
        model.policy.allocate(&mut model.source, MIB / 4, ()).expect("there is memory")
    };
    let [first, second, third, fourth] = [(); 4].map(|()| block(&mut model));
    let start = first.address();
    for block in [first, third, fourth] {
        model.policy.free(block, &[]).expect("the policy's own");
    }
    model.policy.free(second, &[(0, 1)]).expect("the policy's own");
    assert_eq!(model.policy.release_cached(&mut model.source), 0, "stream 0 still uses a quarter");
    model.policy.completed(0, 1);
    let whole = model.policy.allocate(&mut model.source, MIB, ()).expect("it was merged");
    assert_eq!((whole.address(), model.source.device().calls().allocate), (start, 1));
}

#[test]
fn slowly_rising_sizes_share_segments() {
    let mut model = Model { source: TestSource::new(1 << 30), ..Model::new() };
    for bytes in (MIB + 1..8 * MIB).step_by(10_000) {
        let block = model.policy.allocate(&mut model.source, bytes, ()).expect("there is memory");
        model.policy.free(block, &[]).expect("the policy's own");
    }
    assert_eq!(model.source.device().calls().allocate, 3 * 8, "eight for each doubling");
}

/// What is taken for requests none of which is freed, in the given order.
fn taken_for(sizes: impl IntoIterator<Item = u64>) -> u64 {
    let mut model = Model { source: TestSource::new(1 << 40), ..Model::new() };
    let mut handed_out = 0;
    for bytes in sizes {
        let block = model.policy.allocate(&mut model.source, bytes, ()).expect("there is memory");
        handed_out += block.bytes();
        let taken = model.policy.statistics().allocated_bytes.current;
        assert!(taken <= handed_out / 8 * 9 + MIB, "{taken} bytes are taken for {handed_out}");
    }
    model.policy.statistics().allocated_bytes.current
}

proptest! {
    #[test]
    fn where_nothing_is_freed_an_eighth_is_wasted_at_most(
        sizes in prop::collection::vec(prop_oneof![1..9000_u64, 1..2 * MIB, 1..90 * MIB], 1..200),
    ) {
        taken_for(sizes);
    }

    #[test]
    fn of_equal_requests_an_eighth_is_wasted_at_most(
        size in prop_oneof![4096..300_000_u64, 1..90 * MIB],
        count in 1..200_usize,
    ) {
        taken_for(std::iter::repeat_n(size, count));
    }
}

#[test]
fn equal_requests_share_segments_without_a_rest() {
    let taken = taken_for(std::iter::repeat_n(2 * MIB, 32));
    assert_eq!(taken, 64 * MIB);
}

#[test]
fn what_fits_below_the_limit_is_handed_out() {
    let mut source = Limit::new(TestSource::new(1 << 30), Some(64 * MIB));
    let mut policy = BestFit::<usize>::new();
    for number in 0..64 {
        let block = policy.allocate(&mut source, MIB, ());
        assert!(block.is_ok(), "{number} MiB are in use");
    }
}

#[test]
fn a_refusal_for_later_requests_takes_nothing_from_the_cache() {
    let mut model = Model::new();
    let allocate = |model: &mut Model, bytes| {
        model.policy.allocate(&mut model.source, bytes, ()).expect("there is memory")
    };
    let cached = allocate(&mut model, 2 * MIB);
    model.policy.free(cached, &[]).expect("the policy's own");
    model.source.fail(0, Fault::Exhausted);
    let _held = allocate(&mut model, 3 * MIB + 1);
    let given: Vec<_> = model.source.given().map(|(_, bytes)| bytes).collect();
    assert_eq!(given, [2 * MIB, 3 * MIB + 4096]);
}

#[test]
fn a_segment_goes_when_two_ticks_find_it_unused_and_nobody_used_it_in_between() {
    let mut model = Model::new();
    let tick = |model: &mut Model, now| {
        let idle = Duration::from_secs(10);
        model.policy.tick(&mut model.source, Duration::from_secs(now), idle)
    };
    let use_once = |model: &mut Model| {
        let block = model.policy.allocate(&mut model.source, 1, ()).expect("there is memory");
        assert_eq!(tick(model, 0), 0, "it is in use");
        model.policy.free(block, &[]).expect("the policy's own");
    };
    use_once(&mut model);
    assert_eq!([100, 109].map(|now| tick(&mut model, now)), [0, 0]);
    use_once(&mut model);
    assert_eq!([111, 120, 121].map(|now| tick(&mut model, now)), [0, 0, MIB]);
}

#[test]
fn near_the_limit_a_segment_is_no_larger_than_its_request() {
    let mut model = Model::new();
    model.source.fail(0, Fault::Exhausted);
    let block = model.policy.allocate(&mut model.source, 5000, ()).expect("a smaller one is given");
    assert_eq!((block.bytes(), model.reserved()), (5120, 8192));
}
