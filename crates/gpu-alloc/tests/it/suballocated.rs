//! A program's own allocator as a policy, against a model that knows what work has touched every
//! byte: whoever gets memory comes after whoever had it, on every stream, whatever the allocator does.

use std::ops::Range;
use std::time::Duration;

use gpu_alloc::policy::{
    Address, AllocateError, Block, BlockState, Inspect, Log, Misplaced, Misplacement, Policy,
    PoolId, PoolOf, RequestKind, Retention, SourceCall, StreamAndPool, Suballocated, Suballocator,
};
use proptest::prelude::*;

use crate::buddy::{Buddy, SEGMENT};
use crate::effort;
use crate::range_map::RangeMap;
use crate::test_source::{Broken, Fault, TestSource};

const MIB: u64 = 1 << 20;
const GRANULE: u64 = 512;
const STREAMS: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Allocate {
        stream: usize,
        bytes: u64,
        pool: Option<u64>,
    },
    /// The block is used on the streams that are set, then freed.
    Free {
        block: usize,
        used_on: [bool; STREAMS],
    },
    Complete {
        stream: usize,
    },
    Release,
    Trim,
    EndPool {
        pool: u64,
    },
    Fail {
        after: u32,
        broken: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let stream = || 0..STREAMS;
    let bytes = prop_oneof![3 => 1..4000_u64, 2 => 1..MIB, 1 => MIB..6 * MIB];
    let pool = prop_oneof![3 => Just(None), 1 => (1..3_u64).prop_map(Some)];
    prop_oneof![
        8 => (stream(), bytes, pool)
            .prop_map(|(stream, bytes, pool)| Step::Allocate { stream, bytes, pool }),
        7 => (0..64_usize, any::<[bool; STREAMS]>())
            .prop_map(|(block, used_on)| Step::Free { block, used_on }),
        2 => stream().prop_map(|stream| Step::Complete { stream }),
        1 => Just(Step::Release),
        1 => Just(Step::Trim),
        1 => (1..3_u64).prop_map(|pool| Step::EndPool { pool }),
        1 => (0..3_u32, any::<bool>()).prop_map(|(after, broken)| Step::Fail { after, broken }),
    ]
}

/// Per stream, the last work that some work comes after.
type Clock = [u64; STREAMS];

struct Held {
    block: Block,
    requested: u64,
    /// What every use of the block comes after.
    after: Clock,
}

struct Model {
    policy: Suballocated<Buddy, usize>,
    source: Log<TestSource>,
    held: Vec<Held>,
    clocks: [Clock; STREAMS],
    completed: Clock,
    /// The clock of each piece of work, from 1.
    work: [Vec<Clock>; STREAMS],
    /// The last use of memory on each stream.
    touched: RangeMap<(), Clock>,
    /// Which pools there are by now in the places of the two.
    pools: [u64; 2],
    time: u64,
}

impl Model {
    fn new(capacity: u64) -> Model {
        Model {
            policy: Suballocated::new(Buddy::default),
            source: Log::new(TestSource::new(capacity)),
            held: Vec::new(),
            clocks: [[0; STREAMS]; STREAMS],
            completed: [0; STREAMS],
            work: [const { Vec::new() }; STREAMS],
            touched: RangeMap::new(),
            pools: [1, 2],
            time: 0,
        }
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Allocate { stream, bytes, pool } => {
                let pool = pool.map(|pool| PoolOf::Graphs(PoolId(self.pools[pool as usize - 1])));
                self.allocate(bytes, StreamAndPool { stream, pool });
            }
            Step::Free { block, used_on } => self.free(block, used_on),
            Step::Complete { stream } => {
                let Some(last) = self.work[stream].last().copied() else { return };
                // What it came after is over, too, whether or not the policy is told.
                join(&mut self.completed, &last);
                self.policy.completed(stream, last[stream]);
            }
            Step::Release => {
                self.policy.release_cached(&mut self.source);
            }
            Step::Trim => {
                self.time += 1;
                let (now, idle) = [self.time, 2].map(Duration::from_secs).into();
                self.policy.tick(&mut self.source, now, idle);
            }
            Step::EndPool { pool } => {
                let place = &mut self.pools[pool as usize - 1];
                self.policy.end_pool(PoolId(*place), &[(0, self.clocks[0][0])]);
                *place += 2;
            }
            Step::Fail { after, broken } => {
                let fault = if broken { Fault::Broken } else { Fault::Exhausted };
                self.source.source_mut().fail(after, fault);
            }
        }
        self.settle();
        self.check();
    }

    fn allocate(&mut self, bytes: u64, home: StreamAndPool<usize>) {
        let outcome = self.policy.allocate(&mut self.source, bytes, home);
        self.settle();
        let block = match outcome {
            Ok(block) => block,
            Err(AllocateError::OutOfMemory(report)) => {
                assert_eq!(report.certificate.denial().kind, RequestKind::Segment);
                let idle = report.certificate.retained(Retention::None);
                return assert_eq!(idle, 0, "everything went back");
            }
            Err(AllocateError::Source(Broken)) => return,
            Err(AllocateError::Misplaced(wrong)) => panic!("{wrong}"),
        };
        assert!(block.bytes() >= bytes && block.address().0.is_multiple_of(GRANULE));
        for held in &self.held {
            let apart =
                |one: &Block, other: &Block| one.address().0 + one.bytes() <= other.address().0;
            assert!(apart(&held.block, &block) || apart(&block, &held.block));
        }
        let stream = home.stream;
        let waits: Vec<_> = self.policy.waits_for(&block).collect();
        assert_eq!(block.is_shared(), !waits.is_empty());
        assert!(home.pool.is_none() || waits.is_empty(), "graphs wait for nobody");
        assert!(block.last_use() <= self.clocks[stream][stream]);
        for (other, sequence) in waits {
            assert_ne!(other, stream);
            let before = self.work[other][sequence as usize - 1];
            join(&mut self.clocks[stream], &before);
        }
        let mut after = self.clocks[stream];
        join(&mut after, &self.completed);
        for touched in self.touched.within((), &bytes_of(&block)) {
            assert!(is_after(&after, &touched), "{touched:?} may still use what {after:?} gets");
            assert!(block.is_recycled() || touched == [0; STREAMS]);
        }
        self.held.push(Held { block, requested: bytes, after: self.clocks[stream] });
    }

    fn free(&mut self, block: usize, used_on: [bool; STREAMS]) {
        if self.held.is_empty() {
            return;
        }
        let held = self.held.swap_remove(block % self.held.len());
        let mut uses = Vec::new();
        for stream in (0..STREAMS).filter(|stream| used_on[*stream]) {
            join(&mut self.clocks[stream], &held.after);
            self.clocks[stream][stream] += 1;
            let last = self.clocks[stream][stream];
            self.work[stream].push(self.clocks[stream]);
            uses.push((stream, last));
            self.touched.update((), &bytes_of(&held.block), |touched| {
                let mut touched = touched.unwrap_or_default();
                touched[stream] = last;
                touched
            });
        }
        self.policy.free(held.block, &uses).unwrap();
    }

    /// Looks at what went back to the source.
    fn settle(&mut self) {
        for call in self.source.take_calls() {
            let SourceCall::Released { address: Address(start), bytes } = call else { continue };
            let segment = start..start + bytes;
            let is_held = |held: &Held| segment.contains(&held.block.address().0);
            assert!(!self.held.iter().any(is_held));
            for touched in self.touched.remove((), &segment) {
                assert!(is_after(&self.completed, &touched), "work still uses it");
            }
        }
    }

    /// The statistics are what the snapshot shows, and what the program knows.
    fn check(&self) {
        let segments = self.policy.snapshot();
        let blocks: Vec<_> = segments.iter().flat_map(|segment| &segment.blocks).collect();
        let sum = |counts: &dyn Fn(BlockState) -> bool| {
            blocks.iter().filter(|block| counts(block.state)).map(|block| block.size).sum::<u64>()
        };
        let statistics = self.policy.statistics();
        let allocated = self.held.iter().map(|held| held.block.bytes()).sum::<u64>();
        assert_eq!(statistics.allocated_bytes.all.current, allocated);
        assert_eq!(statistics.allocation.all.current, self.held.len() as u64);
        assert_eq!(sum(&|state| state == BlockState::ActiveAllocated), allocated);
        let active = sum(&|state| state != BlockState::Inactive);
        assert_eq!(statistics.active_bytes.all.current, active);
        let requested: u64 = blocks.iter().map(|block| block.requested_size).sum();
        assert_eq!(statistics.requested_bytes.all.current, requested);
        assert!(requested >= self.held.iter().map(|held| held.requested).sum());
        let given = self.source.source().given().map(|(_, bytes)| bytes).sum::<u64>();
        assert_eq!(statistics.reserved_bytes.all.current, given);
        assert_eq!(segments.iter().map(|segment| segment.total_size).sum::<u64>(), given);
        let split = segments.iter().filter(|segment| segment.active_size > 0);
        let split = split.flat_map(|segment| &segment.blocks);
        let free: Vec<_> = split.filter(|block| block.state == BlockState::Inactive).collect();
        assert_eq!(statistics.inactive_split.all.current, free.len() as u64);
        let bytes: u64 = free.iter().map(|block| block.size).sum();
        assert_eq!(statistics.inactive_split_bytes.all.current, bytes);
        for segment in &segments {
            let mut at = segment.address.0;
            for block in &segment.blocks {
                assert_eq!(block.address.0, at);
                at += block.size;
            }
            assert_eq!(at, segment.address.0 + segment.total_size, "the blocks fill the segment");
        }
    }

    /// Frees everything; nothing is lost.
    fn end(mut self) {
        while !self.held.is_empty() {
            self.free(0, [true; STREAMS]);
        }
        for pool in self.pools {
            self.policy.end_pool(PoolId(pool), &[]);
        }
        let last: Vec<_> = (0..STREAMS).map(|stream| self.clocks[stream][stream]).collect();
        let mut awaited: Vec<_> = self.policy.awaited_for_reuse().collect();
        awaited.extend(self.policy.awaited_for_release());
        assert!(awaited.iter().all(|(stream, sequence)| *sequence <= last[*stream]));
        awaited.into_iter().for_each(|(stream, last)| self.policy.completed(stream, last));
        let awaited: Vec<_> = self.policy.awaited_for_release().collect();
        awaited.into_iter().for_each(|(stream, last)| self.policy.completed(stream, last));
        self.policy.release_cached(&mut self.source);
        assert_eq!(self.source.source().given().count(), 0);
        assert_eq!(self.policy.streams().len(), 0);
    }
}

fn bytes_of(block: &Block) -> Range<u64> {
    let start = block.address().0;
    start..start + block.bytes()
}

fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(one, other)| *one = *other.max(one));
}

fn is_after(clock: &Clock, other: &Clock) -> bool {
    clock.iter().zip(other).all(|(one, other)| one >= other)
}

proptest! {
    #![proptest_config(effort::cases(200))]

    #[test]
    fn whoever_gets_memory_comes_after_whoever_had_it_and_nothing_is_lost(
        capacity in prop_oneof![Just(16 * MIB), Just(1024 * MIB)],
        steps in prop::collection::vec(step(), effort::steps(100)),
    ) {
        let mut model = Model::new(capacity);
        steps.into_iter().for_each(|step| model.run(step));
        model.end();
    }
}

/// Says what it is told to.
#[derive(Debug)]
struct Told(fn(u64) -> u64);

impl Suballocator<usize> for Told {
    fn allocate(
        &mut self,
        bytes: u64,
        _: usize,
        new_segment: &mut dyn FnMut(u64) -> Option<Address>,
    ) -> Option<Address> {
        let segment = if bytes == GRANULE { Address(0) } else { new_segment(SEGMENT)? };
        Some(Address((self.0)(segment.0)))
    }

    fn free(&mut self, _: Address, _: u64, _: usize) {}
}

/// What is wrong with what an allocator says of a request of 1 MiB.
fn problem(tells: fn(u64) -> u64) -> Option<Misplacement> {
    let mut source = TestSource::new(64 * MIB);
    let mut policy = Suballocated::new(move || Told(tells));
    match policy.allocate(&mut source, MIB, 0.into()) {
        Ok(block) => {
            policy.free(block, &[]).unwrap();
            None
        }
        Err(AllocateError::Misplaced(Misplaced { bytes, problem, .. })) => {
            assert_eq!(bytes, MIB);
            assert_eq!(policy.statistics().allocation.all.current, 0);
            Some(problem)
        }
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn an_address_outside_of_the_allocators_segments_is_an_error() {
    assert_eq!(problem(|segment| segment), None);
    assert_eq!(problem(|segment| segment + SEGMENT - MIB), None);
    for outside in [
        |_| 0,
        |segment| segment - GRANULE,
        |segment| segment + SEGMENT - MIB + GRANULE,
        |segment| segment + SEGMENT,
        |_| u64::MAX - 511,
    ] {
        assert_eq!(problem(outside), Some(Misplacement::Outside));
    }
    assert_eq!(problem(|segment| segment + 8), Some(Misplacement::Unaligned));
}

#[test]
fn memory_that_is_held_is_not_handed_out_again_and_memory_that_was_freed_is() {
    /// Always the same.
    #[derive(Debug, Default)]
    struct Same(Option<Address>);

    impl Suballocator<usize> for Same {
        fn allocate(
            &mut self,
            bytes: u64,
            _: usize,
            new_segment: &mut dyn FnMut(u64) -> Option<Address>,
        ) -> Option<Address> {
            self.0 = self.0.or_else(|| new_segment(SEGMENT));
            let Address(segment) = self.0?;
            Some(Address(segment + MIB - bytes))
        }

        fn free(&mut self, _: Address, _: u64, _: usize) {}
    }

    let mut source = TestSource::new(64 * MIB);
    let mut policy = Suballocated::new(Same::default);
    let held = policy.allocate(&mut source, MIB, 0.into()).unwrap();
    for bytes in [GRANULE, 4 * GRANULE, MIB] {
        let wrong = policy.allocate(&mut source, bytes, 1.into());
        let Err(AllocateError::Misplaced(wrong)) = wrong else { panic!("two have it") };
        assert_eq!(wrong.problem, Misplacement::Overlap);
        let named = format!("at {}", wrong.address);
        assert!(wrong.to_string().contains(&named), "{wrong}");
    }
    policy.free(held, &[(0, 3)]).unwrap();
    let next = policy.allocate(&mut source, 4 * GRANULE, 1.into()).unwrap();
    assert_eq!(policy.waits_for(&next).collect::<Vec<_>>(), [(0, 3)]);
    policy.free(next, &[]).unwrap();
    assert_eq!(policy.release_cached(&mut source), 0, "this allocator gives nothing up");
}

#[test]
fn a_stream_waits_for_what_was_done_with_its_own_part_and_not_beside_it() {
    let mut source = TestSource::new(64 * MIB);
    let mut policy = Suballocated::<_, usize>::new(Buddy::default);
    let [one, two] = [1, 2]
        .map(|stream| policy.allocate(&mut source, MIB, StreamAndPool::from(stream)).unwrap());
    let (first, second) = (one.address(), two.address());
    policy.free(one, &[(1, 5)]).unwrap();
    policy.free(two, &[(2, 7)]).unwrap();
    for _ in 0..2 {
        let block = policy.allocate(&mut source, MIB, StreamAndPool::from(1)).unwrap();
        let waits: Vec<_> = policy.waits_for(&block).collect();
        let expected = if block.address() == first { (vec![], 5) } else { (vec![(2, 7)], 0) };
        assert!(block.address() == first || block.address() == second);
        assert_eq!((waits, block.last_use()), expected);
    }
}

#[test]
fn a_source_that_breaks_is_the_error_of_the_request() {
    let mut source = TestSource::new(64 * MIB);
    source.fail(0, Fault::Broken);
    let mut policy = Suballocated::<_, usize>::new(Buddy::default);
    let broken = policy.allocate(&mut source, 1000, StreamAndPool::from(0));
    assert!(matches!(broken, Err(AllocateError::Source(Broken))));
    assert!(policy.allocate(&mut source, 1000, StreamAndPool::from(0)).is_ok());
    let absurd = policy.allocate(&mut source, u64::MAX, StreamAndPool::from(0));
    assert!(matches!(absurd, Err(AllocateError::OutOfMemory(_))));
}
