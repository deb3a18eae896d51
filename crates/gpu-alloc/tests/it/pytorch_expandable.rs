//! What PyTorch's policy does with expandable segments, oversize blocks and old segments, case by
//! case.

use gpu_alloc::policy::{
    AllocateError, Block, Inspect, Log, Policy, Pool, PoolId, PoolOf, Pytorch, Refusal,
    RequestKind, SourceCall, SourceDenial, StreamAndPool,
};

use crate::device_model::DeviceModel;
use crate::test_source::{Fault, TestSource};

const MAIN: usize = 1;
const MIB: u64 = 1 << 20;
/// What a page of the large pool has.
const PAGE: u64 = 20 * MIB;
const DEVICE: u64 = 8 * PAGE;

struct Fixture {
    policy: Pytorch<usize>,
    source: Log<TestSource>,
}

impl Fixture {
    fn new(options: &str) -> Self {
        let options = options.parse().expect("the options are well formed");
        let policy = Pytorch::with_options(options, DEVICE);
        Fixture { policy, source: Log::new(TestSource::new(DEVICE)) }
    }

    fn expandable() -> Self {
        Self::new("expandable_segments:True")
    }

    fn allocate(&mut self, bytes: u64) -> Block {
        self.policy.allocate(&mut self.source, bytes, MAIN.into()).expect("there is room")
    }

    fn is_refused(&mut self, bytes: u64) -> bool {
        let outcome = self.policy.allocate(&mut self.source, bytes, MAIN.into());
        matches!(outcome, Err(AllocateError::OutOfMemory(_)))
    }

    fn free(&mut self, block: Block) {
        self.policy.free(block, &[]).expect("the block is the policy's own");
    }

    fn device(&self) -> &DeviceModel {
        self.source.source().device()
    }

    fn count(&self, kind: impl Fn(&SourceCall) -> bool) -> usize {
        self.source.calls().iter().filter(|call| kind(call)).count()
    }
}

#[test]
fn pages_are_of_2_mib_for_small_requests_and_of_20_mib_for_large_ones() {
    let mut f = Fixture::expandable();
    let (_small, _large) = (f.allocate(512), f.allocate(2 * MIB));
    let pages: Vec<_> = f.device().mappings().map(|(.., bytes)| bytes).collect();
    assert_eq!(pages, [2 * MIB, PAGE]);
    let ranges = f.device().reservations().map(|(_, bytes)| bytes);
    assert_eq!(ranges.collect::<Vec<_>>(), [DEVICE / 8 * 9; 2]);
    let segments = f.policy.snapshot();
    assert!(segments.iter().all(|segment| segment.is_expandable));
    assert_eq!(segments[1].segment_type, Pool::Large);
}

#[test]
fn what_is_free_merges_and_grows_into_what_a_larger_request_needs() {
    let mut f = Fixture::expandable();
    let (a, b) = (f.allocate(30 * MIB), f.allocate(20 * MIB));
    let start = a.address();
    assert_eq!(b.address().0 - start.0, 30 * MIB, "it begins in the page that a has begun");
    f.free(a);
    f.free(b);
    let wide = f.allocate(90 * MIB);
    assert_eq!((wide.address(), wide.bytes()), (start, 90 * MIB));
    assert_eq!(f.device().used(), 5 * PAGE);
    assert_eq!(f.policy.statistics().segment.all.current, 0, "no plain segment");
}

#[test]
fn a_hole_that_can_grow_less_is_preferred_to_a_smaller_one_at_the_end() {
    let mut f = Fixture::expandable();
    let (a, _b) = (f.allocate(15 * MIB), f.allocate(15 * MIB));
    let hole = a.address();
    f.free(a);
    assert_eq!(f.allocate(9 * MIB).address(), hole, "10 MiB at the end can grow, and fit better");
}

#[test]
fn whole_pages_are_given_back_out_of_the_middle_and_mapped_elsewhere() {
    let mut f = Fixture::expandable();
    let [_a, b, _c] = [10 * MIB, 5 * PAGE, 10 * MIB].map(|bytes| f.allocate(bytes));
    f.free(b);
    assert_eq!(f.policy.release_cached(&mut f.source), 4 * PAGE);
    assert_eq!(f.device().used(), 2 * PAGE);
    assert_eq!(f.policy.snapshot().len(), 2, "a run of pages on each side of the gap");
    // There is no room for it in the gap, but for its pages on the device.
    assert_eq!(f.allocate(6 * PAGE).bytes(), 6 * PAGE);
    assert_eq!(f.device().used(), DEVICE);
}

#[test]
fn pages_that_the_own_stream_still_uses_stay() {
    let mut f = Fixture::expandable();
    let block = f.allocate(PAGE);
    f.policy.free(block, &[(MAIN, 3)]).expect("the block is the policy's own");
    assert_eq!(f.policy.release_cached(&mut f.source), 0);
    assert_eq!(f.policy.awaited_for_release().collect::<Vec<_>>(), [(MAIN, 3)]);
    f.policy.completed(MAIN, 3);
    assert_eq!(f.policy.release_cached(&mut f.source), PAGE);
    assert!(f.device().is_untouched(), "the empty range goes, too");
    let again = f.allocate(PAGE);
    assert_eq!((again.last_use(), again.is_recycled()), (0, false), "its memory is new");
    f.free(again);
}

#[test]
fn a_refusal_rolls_the_pages_of_one_growth_back_and_the_next_request_can_have_them() {
    let mut f = Fixture::expandable();
    let kept = f.allocate(3 * PAGE);
    assert!(f.is_refused(6 * PAGE));
    assert_eq!(f.device().used(), 3 * PAGE);
    let rest = f.allocate(5 * PAGE);
    assert_eq!(f.device().used(), DEVICE);
    [kept, rest].into_iter().for_each(|block| f.free(block));
}

#[test]
fn a_request_larger_than_a_range_is_refused_and_reserves_nothing() {
    let mut f = Fixture::expandable();
    assert!(f.is_refused(2 * DEVICE));
    assert_eq!(f.count(|call| matches!(call, SourceCall::Reserved { .. })), 0);
}

#[test]
fn whatever_call_fails_nothing_is_lost() {
    // To reserve, two times to create, two times to map, to set access.
    for failing in 0..6 {
        for fault in [Fault::Exhausted, Fault::Broken] {
            let mut f = Fixture::expandable();
            f.source.source_mut().fail(failing, fault);
            let outcome = f.policy.allocate(&mut f.source, 2 * PAGE, MAIN.into());
            match (outcome, fault) {
                // What is refused once is asked for again.
                (Ok(block), Fault::Exhausted) => f.free(block),
                (Err(AllocateError::Source(_)), Fault::Broken) => {
                    assert_eq!(f.device().used(), 0, "{failing}");
                }
                (outcome, _) => panic!("{failing}: {outcome:?}"),
            }
            f.policy.release_cached(&mut f.source);
            assert!(f.device().is_untouched(), "{failing}");
        }
    }
}

#[test]
fn a_pool_has_pages_of_its_own_and_keeps_them_until_it_has_ended() {
    let mut f = Fixture::expandable();
    let pool = PoolId(1);
    let home = StreamAndPool { pool: Some(PoolOf::Graphs(pool)), stream: MAIN };
    let block = f.policy.allocate(&mut f.source, PAGE, home).expect("there is room");
    let address = block.address();
    f.free(block);
    let other = f.allocate(PAGE);
    assert_ne!(other.address(), address, "it belongs to the pool");
    f.free(other);
    assert_eq!(f.policy.release_cached(&mut f.source), PAGE, "the other's");
    assert!(f.policy.snapshot().iter().all(|segment| segment.is_kept));
    f.policy.end_pool(pool, &[]);
    assert_eq!(f.policy.release_cached(&mut f.source), PAGE);
    assert!(f.device().is_untouched());
}

#[test]
fn oversize_blocks_serve_oversize_requests_and_go_first_when_memory_is_short() {
    let mut f = Fixture::new("max_split_size_mb:40");
    let (large, small) = (f.allocate(100 * MIB), f.allocate(30 * MIB));
    let oversize = f.policy.statistics().oversize_allocations;
    assert_eq!((oversize.current, f.policy.statistics().oversize_segments.current), (1, 1));
    let start = large.address();
    f.free(large);
    assert_ne!(f.allocate(30 * MIB).address(), start, "too small for an oversize block");
    let large = f.allocate(90 * MIB);
    assert_eq!((large.address(), large.bytes()), (start, 100 * MIB), "given as a whole");
    f.free(large);
    f.free(small);
    // Neither the free oversize block nor the device has room, and the free small one can stay.
    let _other = f.allocate(70 * MIB);
    let released = f.count(|call| matches!(call, SourceCall::Released { .. }));
    assert_eq!((released, f.policy.statistics().num_alloc_retries), (1, 0));
}

#[test]
fn segments_older_than_the_mean_are_collected_beyond_the_threshold() {
    let mut f = Fixture::new("garbage_collection_threshold:0.5");
    f.policy.set_memory_limit(Some(DEVICE));
    let [old, young, third] = [40 * MIB, 42 * MIB, 12 * MIB].map(|bytes| f.allocate(bytes));
    let old_address = old.address();
    f.free(old);
    f.free(third);
    let _third = f.allocate(12 * MIB);
    f.free(young);
    let _held = f.allocate(50 * MIB);
    let released: Vec<_> = f
        .source
        .calls()
        .iter()
        .filter(|call| matches!(call, SourceCall::Released { .. }))
        .collect();
    assert_eq!(released, [&SourceCall::Released { address: old_address, bytes: 40 * MIB }]);
}

#[test]
fn a_request_beyond_the_limit_is_refused_as_a_whole_before_anything_is_mapped() {
    let mut f = Fixture::expandable();
    let limit = 4 * PAGE;
    f.policy.set_memory_limit(Some(limit));
    let held = f.allocate(2 * PAGE);
    let pages = f.count(|call| matches!(call, SourceCall::Created { .. }));
    let refused = f.policy.allocate(&mut f.source, 2 * PAGE + 1, MAIN.into());
    let Err(AllocateError::OutOfMemory(report)) = refused else { panic!("that is too much") };
    let (kind, bytes) = (RequestKind::Memory, 2 * PAGE + 2 * MIB);
    let expected = SourceDenial { kind, bytes, refusal: Refusal::Limit(limit), given: 0 };
    assert_eq!(report.certificate.denial(), expected);
    assert_eq!(f.count(|call| matches!(call, SourceCall::Created { .. })), pages);
    assert_eq!(f.policy.statistics().num_alloc_retries, 1);
    let rest = f.allocate(2 * PAGE);
    assert!(f.is_refused(1 << 20 | 1));
    f.free(rest);
    f.free(held);
    let all = f.allocate(limit);
    assert_eq!(f.device().used(), limit);
    f.free(all);
}

#[test]
fn under_a_limit_a_request_counts_as_a_segment_also_where_less_is_missing() {
    let mut f = Fixture::expandable();
    f.policy.set_memory_limit(Some(90 * MIB));
    let _held = f.allocate(2 * PAGE + 5 * MIB);
    assert!(f.is_refused(35 * MIB), "15 MiB of it are there, but a segment has 36");
    f.policy.set_memory_limit(None);
    let _unlimited = f.allocate(35 * MIB);
    assert_eq!(f.device().used(), 4 * PAGE, "a page was missing");
}

#[test]
fn a_caller_that_may_wait_has_what_it_waited_for_released_too() {
    let mut f = Fixture::new("");
    let block = f.allocate(6 * PAGE);
    f.policy.free(block, &[(MAIN + 1, 1)]).expect("the block is the policy's own");
    assert!(f.is_refused(7 * PAGE));
    let wait = |policy: &mut Pytorch<usize>| policy.completed(MAIN + 1, 1);
    let block = f.policy.allocate_with(&mut f.source, 7 * PAGE, MAIN.into(), wait);
    f.free(block.expect("there is room after the wait"));
}
