//! What PyTorch's native policy does, case by case.

use gpu_alloc::policy::{
    Address, AllocateError, BestFit, Block, Inspect, Limit, Log, Policy, PoolId, PoolOf, Pytorch,
    Refusal, SourceCall, Stitched, StreamAndPool, Suballocated,
};

use crate::buddy::Buddy;
use crate::test_source::{Fault, TestSource};

const MAIN: usize = 1;
const SIDE: usize = 2;
const MIB: u64 = 1 << 20;

struct Fixture {
    policy: Pytorch<usize>,
    source: Log<Limit<TestSource>>,
}

impl Fixture {
    fn new() -> Self {
        Self::with_capacity(1 << 30)
    }

    fn with_capacity(capacity: u64) -> Self {
        let source = Log::new(Limit::new(TestSource::new(capacity), None));
        Fixture { policy: Pytorch::new(), source }
    }

    fn allocate(&mut self, bytes: u64) -> Block {
        self.allocate_on(bytes, MAIN)
    }

    fn allocate_on(&mut self, bytes: u64, stream: usize) -> Block {
        self.policy.allocate(&mut self.source, bytes, stream.into()).expect("there is room")
    }

    fn free(&mut self, block: Block, uses: &[(usize, u64)]) {
        self.policy.free(block, uses).expect("the block is the policy's own");
    }

    fn reserved(&self) -> u64 {
        self.policy.statistics().reserved_bytes.all.current
    }
}

#[test]
fn freed_block_is_reused_without_a_call_to_the_source() {
    let mut f = Fixture::new();
    let block = f.allocate(5000);
    let address = block.address();
    f.free(block, &[(MAIN, 1)]);
    assert_eq!(f.allocate(5000).address(), address);
    assert_eq!(f.source.calls().len(), 1);
}

#[test]
fn small_requests_share_a_segment_of_2_mib() {
    let mut f = Fixture::new();
    let blocks: Vec<_> = (0..4096).map(|_| f.allocate(512)).collect();
    let base = blocks[0].address();
    assert_eq!(f.source.calls(), [SourceCall::Allocated { address: base, bytes: 2 * MIB }]);
    assert!(blocks.iter().zip(0..).all(|(block, i)| block.address() == Address(base.0 + 512 * i)));
}

#[test]
fn neighbouring_segments_do_not_merge() {
    let mut f = Fixture::new();
    let (a, b) = (f.allocate(20 * MIB), f.allocate(20 * MIB));
    assert_eq!(b.address().0 - a.address().0, 20 * MIB, "the source puts them side by side");
    f.free(a, &[]);
    f.free(b, &[]);
    let _wide = f.allocate(40 * MIB);
    assert_eq!(f.reserved(), 80 * MIB);
}

#[test]
fn a_block_merges_with_both_neighbours() {
    let mut f = Fixture::new();
    let [a, b, c] = [0; 3].map(|_| f.allocate(1000));
    let start = a.address();
    f.free(a, &[]);
    f.free(c, &[]);
    f.free(b, &[]);
    assert_eq!(f.allocate(MIB).address(), start);
}

#[test]
fn free_memory_of_one_stream_is_not_handed_to_another() {
    let mut f = Fixture::new();
    let block = f.allocate_on(1000, MAIN);
    let address = block.address();
    f.free(block, &[]);
    assert_ne!(f.allocate_on(1000, SIDE).address(), address);
    assert_eq!(f.allocate_on(1000, MAIN).address(), address);
}

#[test]
fn a_use_on_another_stream_delays_the_reuse() {
    let mut f = Fixture::new();
    let block = f.allocate(1000);
    let address = block.address();
    f.free(block, &[(SIDE, 4), (MAIN, 9)]);
    let statistics = f.policy.statistics();
    assert_eq!(statistics.allocated_bytes.all.current, 0);
    assert_eq!(
        (statistics.active_bytes.all.current, statistics.requested_bytes.all.current),
        (1024, 1000)
    );
    f.policy.completed(SIDE, 3);
    assert_ne!(f.allocate(1000).address(), address);
    f.policy.completed(SIDE, 4);
    assert_eq!(f.policy.awaited_for_reuse().count(), 0);
    assert_eq!(f.allocate(1000).address(), address);
}

#[test]
fn a_new_owner_learns_of_the_last_use_of_any_part_of_its_memory() {
    let mut f = Fixture::new();
    assert_eq!(f.allocate(512).last_use(), 0);
    let (a, b) = (f.allocate(512), f.allocate(512));
    f.free(a, &[(MAIN, 7)]);
    f.free(b, &[(MAIN, 5)]);
    let first = f.allocate(512);
    assert_eq!(first.last_use(), 7);
    f.free(first, &[]);
    assert_eq!(f.allocate(512).last_use(), 7, "also past an owner without uses");
}

#[test]
fn release_keeps_what_the_own_stream_still_uses() {
    let mut f = Fixture::new();
    let block = f.allocate(20 * MIB);
    f.free(block, &[(MAIN, 3)]);
    assert_eq!(f.policy.release_cached(&mut f.source), 0);
    assert_eq!(f.policy.awaited_for_release().collect::<Vec<_>>(), [(MAIN, 3)]);
    f.policy.completed(MAIN, 3);
    assert_eq!(f.policy.release_cached(&mut f.source), 20 * MIB);
}

#[test]
fn release_keeps_segments_that_are_partly_in_use() {
    let mut f = Fixture::new();
    let (small, large) = (f.allocate(512), f.allocate(20 * MIB));
    f.free(large, &[]);
    assert_eq!(f.policy.release_cached(&mut f.source), 20 * MIB);
    assert_eq!(f.policy.statistics().inactive_split_bytes.all.current, 2 * MIB - 512);
    f.free(small, &[]);
    assert_eq!(f.policy.release_cached(&mut f.source), 2 * MIB);
}

#[test]
fn a_refusal_releases_what_is_cached_and_tries_again() {
    let mut f = Fixture::with_capacity(64 * MIB);
    let block = f.allocate(40 * MIB);
    f.free(block, &[]);
    let block = f.allocate(60 * MIB);
    assert_eq!(f.reserved(), 60 * MIB);
    assert_eq!(f.policy.statistics().num_alloc_retries, 1);
    f.free(block, &[]);
}

#[test]
fn an_out_of_memory_report_tells_where_the_memory_is() {
    let mut f = Fixture::with_capacity(64 * MIB);
    let (kept, pending) = (f.allocate(12 * MIB), f.allocate(12 * MIB));
    let (shared, other) = (f.allocate(3 * MIB), f.allocate_on(512, SIDE));
    f.free(pending, &[(SIDE, 1)]);
    let refused = f.policy.allocate(&mut f.source, 30 * MIB, MAIN.into());
    let Err(AllocateError::OutOfMemory(report)) = refused else { panic!("there is no room") };
    assert_eq!((report.requested, report.needed), (30 * MIB, 30 * MIB));
    assert_eq!(
        (report.allocated, report.pending, report.reserved),
        (15 * MIB + 512, 12 * MIB, 46 * MIB)
    );
    assert_eq!(
        (report.largest_free_block, report.cached_for_other_streams),
        (17 * MIB, 2 * MIB - 512)
    );
    assert_eq!(
        (report.certificate.denial().refusal, report.cached()),
        (Refusal::Exhausted, 19 * MIB - 512)
    );
    [kept, shared, other].into_iter().for_each(|block| f.free(block, &[]));
}

#[test]
fn a_limit_is_named_in_the_report() {
    let mut f = Fixture::new();
    let limited = Limit::new(TestSource::new(1 << 30), Some(10 * MIB));
    f.source = Log::new(limited);
    let refused = f.policy.allocate(&mut f.source, 11 * MIB, MAIN.into());
    let Err(AllocateError::OutOfMemory(report)) = refused else { panic!("there is a limit") };
    assert_eq!(report.certificate.denial().refusal, Refusal::Limit(10 * MIB));
    assert_eq!(f.allocate(10 * MIB).bytes(), 10 * MIB);
}

#[test]
fn a_broken_source_is_not_asked_again() {
    let mut policy = Pytorch::<usize>::new();
    let mut source = Log::new(TestSource::new(1 << 30));
    source.source_mut().fail(0, Fault::Broken);
    assert!(matches!(policy.allocate(&mut source, 1, MAIN.into()), Err(AllocateError::Source(_))));
    assert_eq!(source.calls(), [SourceCall::Refused { bytes: 2 * MIB }]);
    assert_eq!(policy.snapshot(), []);
}

#[test]
fn a_block_of_another_policy_is_refused() {
    let (mut ours, mut theirs) = (Fixture::new(), Fixture::new());
    let block = theirs.allocate(1);
    let refused = ours.policy.free(block, &[]).expect_err("it is not ours");
    theirs.free(refused.0, &[]);
}

#[test]
fn a_block_of_another_policy_is_refused_also_where_a_smaller_one_begins() {
    fn check<P: Policy>(new: fn() -> P, home: P::Owner)
    where
        P::Owner: Copy,
    {
        let [mut ours, mut theirs] = [(); 2].map(|()| (new(), TestSource::new(1 << 30)));
        let own = ours.0.allocate(&mut ours.1, 1000, home).expect("there is room");
        let block = theirs.0.allocate(&mut theirs.1, 5000, home).expect("there is room");
        assert_eq!((own.address(), own.place()), (block.address(), block.place()));
        let refused = ours.0.free(block, &[]).expect_err("it is not ours");
        theirs.0.free(refused.0, &[]).expect("it is theirs");
        ours.0.free(own, &[]).expect("it is ours still");
    }
    check(Pytorch::<usize>::new, 0.into());
    check(Stitched::<usize>::new, 0.into());
    check(BestFit::<usize>::new, ());
    check(|| Suballocated::<Buddy, usize>::new(Buddy::default), 0.into());
}

#[test]
fn a_limit_follows_what_is_given_back() {
    let mut f = Fixture::new();
    f.source = Log::new(Limit::new(TestSource::new(1 << 30), Some(20 * MIB)));
    for _ in 0..3 {
        let block = f.allocate(20 * MIB);
        f.free(block, &[]);
        f.policy.release_cached(&mut f.source);
    }
    assert_eq!(f.source.source().held(), 0);
}

#[test]
fn a_pool_serves_nobody_else_and_is_not_given_back_before_it_has_ended() {
    let mut f = Fixture::with_capacity(40 * MIB);
    let pool = PoolId(1);
    let home = StreamAndPool { pool: Some(PoolOf::Graphs(pool)), stream: MAIN };
    let block = f.policy.allocate(&mut f.source, 20 * MIB, home).expect("there is room");
    assert!(!block.is_recycled());
    let address = block.address();
    f.free(block, &[]);
    let other = f.allocate(20 * MIB);
    assert_ne!(other.address(), address, "it belongs to the pool");
    assert_eq!(f.policy.release_cached(&mut f.source), 0);
    let refused = f.policy.allocate(&mut f.source, 20 * MIB, MAIN.into());
    let Err(AllocateError::OutOfMemory(report)) = refused else { panic!("there is no room") };
    assert_eq!((report.kept_for_graphs, report.cached()), (20 * MIB, 0));
    let again = f.policy.allocate(&mut f.source, 20 * MIB, home).expect("it is the pool's");
    assert_eq!((again.address(), again.is_recycled()), (address, true));
    f.policy.end_pool(pool, &[]);
    assert_eq!(f.policy.release_cached(&mut f.source), 0, "somebody holds it");
    f.free(again, &[]);
    assert_eq!(f.policy.release_cached(&mut f.source), 20 * MIB);
    f.free(other, &[]);
}
