//! Random programs on the stitching policy against a model that knows where every byte lies and
//! what work has touched it: whoever gets memory comes after whoever had it, on every stream.

mod graphs;
mod places;
mod program;

use std::collections::HashMap;
use std::time::Duration;

use gpu_alloc::policy::{
    Address, AllocateError, Block, BlockState, Inspect, Lending, Physical, Policy, PoolId, PoolOf,
    Stitched, StreamAndPool, StreamCaches,
};
use proptest::prelude::*;

use self::places::{MappedPart, MappedParts};
use self::program::{Step, drawn_step, program};
use crate::counted::CountedStats;
use crate::drawn::Draws;
use crate::effort;
use crate::range_map::RangeMap;
use crate::test_source::{Broken, Fault, TestSource};

const MIB: u64 = 1 << 20;
const GRANULE: u64 = 512;
const STREAMS: usize = 3;
/// Pools that are kept apart for graphs. One that has ended is another one afterwards.
const POOLS: usize = 2;

/// Per stream, the last work that some work comes after.
type Clock = [u64; STREAMS];

/// What work must come after, by stream.
type Waits = Vec<(usize, u64)>;

struct Held {
    block: Block,
    stream: usize,
    requested: u64,
    pool: Option<PoolId>,
    /// What every use of the block comes after.
    after: Clock,
    places: Vec<MappedPart>,
}

struct Model {
    lending: Lending<Stitched<usize>>,
    caches: StreamCaches<usize>,
    /// Whether the policy lends its stream caches.
    lends: bool,
    source: TestSource,
    held: Vec<Held>,
    counted: CountedStats,
    /// By what names the policy knows the streams. Those that took others' places count on.
    names: [usize; STREAMS],
    clocks: [Clock; STREAMS],
    completed: Clock,
    /// The clock of each piece of work, from 1.
    work: [Vec<Clock>; STREAMS],
    /// The last use of memory on each stream.
    touched: RangeMap<Physical, Clock>,
    /// The memory that graphs may use, where it was handed out, by the pools that it is from.
    of_graphs: HashMap<PoolId, MappedParts>,
    /// How often each pool has ended.
    ended: [u64; POOLS],
    now: u64,
}

impl Model {
    fn new(capacity: u64, lends: bool) -> Model {
        Model {
            lending: Lending::new(Stitched::new()),
            caches: StreamCaches::new(),
            lends,
            source: TestSource::new(capacity),
            held: Vec::new(),
            counted: CountedStats::default(),
            names: std::array::from_fn(|stream| stream),
            clocks: [[0; STREAMS]; STREAMS],
            completed: [0; STREAMS],
            work: [const { Vec::new() }; STREAMS],
            touched: RangeMap::new(),
            of_graphs: HashMap::new(),
            ended: [0; POOLS],
            now: 0,
        }
    }

    /// A model in which so many streams came and went before that each gets the stream cache of another.
    fn crowded(mut self) -> Model {
        for _ in 0..StreamCaches::<usize>::MAX_STREAMS {
            self.allocate(StreamAndPool::from(0), 1);
            self.held.pop().into_iter().for_each(|held| self.free(held, [true; STREAMS]));
            self.end_stream(0);
        }
        self
    }

    /// Runs all steps, and looks after each or after some: to look is to take everything back.
    fn run_all(mut self, steps: &[Step], looks: bool) {
        for (step, number) in steps.iter().zip(0..) {
            self.make(step);
            if looks || number % 16 == 0 {
                self.check();
            }
        }
        self.check();
        self.end();
    }

    /// The policy with all that is its own.
    fn whole(&mut self) -> &mut Stitched<usize> {
        self.caches.recall(&mut self.lending, |_| ())
    }

    fn allocate_block(
        &mut self,
        home: StreamAndPool<usize>,
        bytes: u64,
    ) -> Result<(Block, Waits), AllocateError<Broken>> {
        let stream = home.stream;
        let name = self.names[stream];
        if self.lends && home.pool.is_none() {
            let caches = &self.caches;
            // With two streams out of three, so that some is done by the policy while others' is lent.
            if stream < 2 {
                caches.lend(&mut self.lending, name, |_| ());
            }
            if let Some(block) = caches.allocate(name, bytes, |_, _| ()) {
                let waits_for =
                    caches.waits_for(&block).expect("its stream cache is lent").to_vec();
                assert_eq!(block.is_shared(), !waits_for.is_empty());
                return Ok((block, self.by_index(waits_for)));
            }
        }
        let home = StreamAndPool { stream: name, ..home };
        let policy = self.caches.recall(&mut self.lending, |_| ());
        let block = policy.allocate(&mut self.source, bytes, home)?;
        let waits_for = policy.waits_for(&block).collect();
        Ok((block, self.by_index(waits_for)))
    }

    /// What the policy says of streams, none of which is gone.
    fn by_index(&self, waits_for: Waits) -> Waits {
        let index = |name: usize| self.names.iter().position(|known| *known == name);
        let known = |(name, last)| (index(name).expect("nobody waits for who is gone"), last);
        waits_for.into_iter().map(known).collect()
    }

    fn end_stream(&mut self, stream: usize) {
        // Graphs know streams by their names.
        let has_graphs = !self.of_graphs.is_empty() || self.ended != [0; POOLS];
        if has_graphs || self.held.iter().any(|held| held.stream == stream) {
            return;
        }
        self.complete(stream);
        let name = self.names[stream];
        self.whole().end_stream(name);
        assert!(!self.whole().streams().contains(&name));
        self.names[stream] += STREAMS;
    }

    fn free_block(&mut self, mut block: Block, uses: &[(usize, u64)]) {
        if self.lends {
            match self.caches.free(block, uses) {
                Ok(()) => return,
                Err(refused) => block = refused,
            }
        }
        self.whole().free(block, uses).expect("the block is the policy's own");
    }

    fn make(&mut self, step: &Step) {
        match *step {
            Step::Allocate { stream, bytes, pool } => {
                let pool = pool.map(|pool| PoolOf::Graphs(self.pool(pool)));
                self.allocate(StreamAndPool { pool, stream }, bytes);
            }
            Step::Free { block, used_on } => {
                if !self.held.is_empty() {
                    let held = self.held.swap_remove(block % self.held.len());
                    self.free(held, used_on);
                }
            }
            Step::Wait { stream, other } => {
                let seen = self.clocks[other];
                join(&mut self.clocks[stream], &seen);
            }
            Step::Complete { stream } => self.complete(stream),
            Step::End { stream } => self.end_stream(stream),
            Step::Release => {
                let policy = self.caches.recall(&mut self.lending, |_| ());
                policy.release_cached(&mut self.source);
                let used = self.source.device().used();
                assert!(policy.statistics().reserved_bytes.all.current <= used);
            }
            Step::Tick { after, idle } => {
                self.now += after;
                let (now, idle) = (Duration::from_secs(self.now), Duration::from_secs(idle));
                self.caches.recall(&mut self.lending, |_| ()).tick(&mut self.source, now, idle);
            }
            Step::EndPool { pool, used_on } => self.end_pool(pool, used_on),
            Step::ResetPeaks => {
                self.whole().reset_peak_statistics();
                self.counted.peak = self.counted.now;
            }
            Step::Fail { after, broken } => {
                self.source.fail(after, if broken { Fault::Broken } else { Fault::Exhausted });
            }
        }
    }

    fn complete(&mut self, stream: usize) {
        let last = self.work[stream].len() as u64;
        self.completed[stream] = last;
        let name = self.names[stream];
        self.whole().completed(name, last);
        if let Some(clock) = self.work[stream].last().copied() {
            // What is done was not begun before what it comes after was done.
            join(&mut self.completed, &clock);
        }
    }

    fn allocate(&mut self, home: StreamAndPool<usize>, bytes: u64) {
        let (pool, stream) = (home.pool.map(PoolOf::id), home.stream);
        let (block, waits_for) = match self.allocate_block(home, bytes) {
            Ok(handed) => handed,
            Err(AllocateError::OutOfMemory(report)) => return assert_eq!(report.requested, bytes),
            Err(_) => return,
        };
        assert!(block.bytes() >= bytes && block.bytes() - bytes < GRANULE);
        assert!(block.address().0.is_multiple_of(GRANULE));
        assert!(self.source.device().is_usable(block.address(), block.bytes()));
        let is_over = |(other, last): &(usize, u64)| *last <= self.completed[*other];
        assert!(pool.is_none() || waits_for.iter().all(is_over), "captured work cannot wait");
        let mut after = self.clocks[stream];
        for (other, sequence) in waits_for {
            assert_ne!(other, stream, "nobody waits for its own stream");
            join(&mut after, &self.work[other][sequence as usize - 1]);
        }
        self.clocks[stream] = after;
        let places = self.places(&block);
        for place in &places {
            let touched = self.touched.within(place.memory, &place.bytes);
            for (other, last) in touched.flat_map(|last| last.into_iter().enumerate()) {
                let is_over = last <= after[other].max(self.completed[other]);
                assert!(is_over || other == stream, "{place:?}: work {last} of {other} may run");
            }
        }
        self.keep_apart(pool, &places);
        self.counted.change(&block, bytes, true);
        self.held.push(Held { block, stream, requested: bytes, pool, after, places });
    }

    fn free(&mut self, held: Held, used_on: [bool; STREAMS]) {
        let mut uses = Vec::new();
        for stream in (0..STREAMS).filter(|stream| used_on[*stream]) {
            // Ordered work: a use on another stream comes after what the memory's owner came after,
            // and after the last use on the owner's stream before it was the owner's.
            join(&mut self.clocks[stream], &held.after);
            let own = held.block.last_use();
            self.clocks[stream][held.stream] = self.clocks[stream][held.stream].max(own);
            let sequence = self.work[stream].len() as u64 + 1;
            self.clocks[stream][stream] = sequence;
            self.work[stream].push(self.clocks[stream]);
            uses.push((self.names[stream], sequence));
            for place in &held.places {
                self.touched.update(place.memory, &place.bytes, |touched| {
                    let mut touched = touched.unwrap_or_default();
                    for (other, last) in touched.iter().enumerate() {
                        let seen = self.clocks[stream][other].max(self.completed[other]);
                        let use_before = (self.names[other], *last);
                        assert!(other == stream || *last <= seen || uses.contains(&use_before));
                    }
                    touched[stream] = sequence;
                    touched
                });
            }
        }
        self.counted.change(&held.block, held.requested, false);
        self.free_block(held.block, &uses);
    }

    /// The physical memory of a block.
    fn places(&self, block: &Block) -> Vec<MappedPart> {
        let start = block.address().0;
        let addresses = start..start + block.bytes();
        let mappings = self.source.device().mappings();
        let places: Vec<_> =
            mappings.filter_map(|mapping| MappedPart::of(&addresses, mapping)).collect();
        let mapped: u64 = places.iter().map(MappedPart::len).sum();
        assert_eq!(mapped, block.bytes(), "held memory is mapped");
        places
    }

    fn check(&mut self) {
        self.whole();
        let mut held = RangeMap::new();
        for place in self.held.iter().flat_map(|held| &held.places) {
            held.update(place.memory, &place.bytes, |other: Option<()>| {
                assert!(other.is_none(), "{place:?} is held twice")
            });
        }
        self.check_graphs();
        let statistics = self.whole().statistics();
        if self.whole().awaited_for_reuse().next().is_none() {
            self.counted.check(&statistics);
        }
        let left = statistics.num_device_alloc - statistics.num_device_free;
        assert_eq!(left, self.source.device().pieces() as u64, "taken and not given back");
        let segments = self.whole().snapshot();
        let total = segments.iter().map(|segment| segment.total_size).sum::<u64>();
        assert_eq!(statistics.reserved_bytes.all.current, total);
        assert!(total <= self.source.device().used());
        for segment in &segments {
            assert!(self.source.device().is_usable(segment.address, segment.total_size));
            let free = |state| state == BlockState::Inactive;
            let pairs = segment.blocks.windows(2);
            for pair in pairs {
                assert!(!(free(pair[0].state) && free(pair[1].state)), "neighbours have merged");
            }
        }
    }

    /// Frees everything, after which all memory goes back.
    fn end(mut self) {
        for held in std::mem::take(&mut self.held) {
            self.free(held, [true; STREAMS]);
        }
        (0..POOLS).for_each(|pool| self.end_pool(pool, [true; STREAMS]));
        (0..STREAMS).for_each(|stream| self.complete(stream));
        let policy = self.caches.recall(&mut self.lending, |_| ());
        policy.release_cached(&mut self.source);
        assert_eq!(self.source.device().used(), 0);
        assert_eq!(policy.statistics().reserved_bytes.all.current, 0);
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    for (last, seen) in clock.iter_mut().zip(other) {
        *last = (*last).max(*seen);
    }
}

proptest! {
    #![proptest_config(effort::cases(256))]

    #[test]
    fn memory_is_one_owners_at_a_time_on_every_stream(
        (capacity, steps) in program(),
        [lends, looks, is_crowded] in any::<[bool; 3]>(),
    ) {
        let model = Model::new(capacity, lends);
        let model = if is_crowded { model.crowded() } else { model };
        model.run_all(&steps, looks);
    }
}

/// Runs a program that is drawn.
pub(crate) fn run_drawn(draws: &mut Draws<'_>) {
    let capacity = [48, 96, 1024][draws.one_of(3)] * MIB;
    let steps = draws.steps(100, drawn_step);
    let [lends, looks, is_crowded] = [(); 3].map(|()| draws.is_set());
    let model = Model::new(capacity, lends);
    let model = if is_crowded { model.crowded() } else { model };
    model.run_all(&steps, looks);
}

#[test]
fn another_stream_takes_free_memory_and_comes_after_its_last_use() {
    let mut source = TestSource::new(20 * MIB);
    let mut policy = Stitched::<usize>::new();
    let block = policy.allocate(&mut source, 12 * MIB, StreamAndPool::from(0)).unwrap();
    policy.free(block, &[(0, 3), (1, 5)]).unwrap();
    let block = policy.allocate(&mut source, 12 * MIB, StreamAndPool::from(1)).unwrap();
    assert_eq!(policy.waits_for(&block).collect::<Vec<_>>(), [(0, 3)]);
    assert_eq!(block.last_use(), 5);
}

#[test]
fn a_request_that_fails_leaves_no_memory_behind() {
    let mut source = TestSource::new(16 * MIB);
    let mut policy = Stitched::<usize>::new();
    let held = policy.allocate(&mut source, 2 * MIB, StreamAndPool::from(0)).unwrap();
    assert!(policy.allocate(&mut source, 40 * MIB, StreamAndPool::from(0)).is_err());
    assert_eq!(source.device().used(), 2 * MIB);
    assert_ne!(held.address(), Address(0));
    policy.free(held, &[]).unwrap();
}

#[test]
fn what_is_awaited_leaves_out_old_mappings_that_went_with_their_neighbours() {
    let mut source = TestSource::new(320 * MIB);
    let mut policy = Stitched::new();
    let mut allocate = |policy: &mut Stitched<usize>, bytes| {
        policy.allocate(&mut source, bytes, StreamAndPool::from(0)).expect("there is room")
    };
    let first: Vec<_> = (0..100).map(|_| allocate(&mut policy, 2 * MIB)).collect();
    let between = allocate(&mut policy, 2 * MIB);
    let second: Vec<_> = (0..50).map(|_| allocate(&mut policy, 2 * MIB)).collect();
    for block in first.into_iter().chain(second) {
        policy.free(block, &[(0, 5)]).unwrap();
    }
    let large = allocate(&mut policy, 300 * MIB);
    policy.completed(0, 5);
    let small = allocate(&mut policy, 2 * MIB);
    assert_eq!(policy.awaited_for_release().count(), 0);
    [between, large, small].into_iter().for_each(|block| policy.free(block, &[]).unwrap());
}
