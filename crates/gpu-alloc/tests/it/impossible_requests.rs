//! Requests that can never be served: they cost nothing, and change nothing.

use gpu_alloc::policy::{
    AllocateError, BestFit, Limit, Log, OutOfMemoryReport, Policy, Refusal, RequestKind,
    SourceDenial, Stitched, StreamAndPool,
};

use crate::test_source::TestSource;

const MIB: u64 = 1 << 20;

/// A source that may give 64 MiB, and has more.
fn limited() -> Log<Limit<TestSource>> {
    Log::new(Limit::new(TestSource::new(1 << 30), Some(64 * MIB)))
}

fn report<B, E>(outcome: Result<B, AllocateError<E>>) -> OutOfMemoryReport {
    match outcome {
        Err(AllocateError::OutOfMemory(report)) => *report,
        _ => panic!("there is not that much"),
    }
}

#[test]
fn a_request_that_what_is_held_leaves_no_room_for_is_refused_at_once_and_the_cache_stays() {
    let (mut source, mut policy) = (limited(), Stitched::<usize>::new());
    let home = StreamAndPool::from(0);
    let held = policy.allocate(&mut source, 8 * MIB, home).unwrap();
    let cached = policy.allocate(&mut source, 40 * MIB, home).unwrap();
    policy.free(cached, &[]).unwrap();
    source.take_calls();
    let before = policy.statistics();
    for (bytes, total) in [(57 * MIB, 65 * MIB), (1 << 40, (1 << 40) + 8 * MIB)] {
        let refused = report(policy.allocate(&mut source, bytes, home)).certificate.denial();
        let refusal = Refusal::Limit(64 * MIB);
        assert_eq!(
            refused,
            SourceDenial { kind: RequestKind::Total, bytes: total, refusal, given: 0 }
        );
    }
    assert_eq!(source.take_calls(), []);
    let after = policy.statistics();
    assert_eq!(after.num_oom_rejections, 2);
    assert_eq!((after.reserved_bytes, after.num_alloc_retries), (before.reserved_bytes, 0));
    let served = policy.allocate(&mut source, 56 * MIB, home).expect("that can be held");
    [held, served].into_iter().for_each(|block| policy.free(block, &[]).unwrap());
}

#[test]
fn what_was_taken_before_the_limit_was_lowered_serves_requests_beyond_it() {
    let (mut source, mut policy) = (limited(), Stitched::<usize>::new());
    let block = policy.allocate(&mut source, 40 * MIB, StreamAndPool::from(0)).unwrap();
    policy.free(block, &[(0, 1)]).unwrap();
    source.source_mut().set_limit(Some(10 * MIB));
    let block =
        policy.allocate(&mut source, 30 * MIB, StreamAndPool::from(1)).expect("it is there");
    policy.free(block, &[]).unwrap();
}

#[test]
fn what_a_refused_request_was_given_for_a_while_makes_no_peak() {
    let (mut source, mut policy) = (TestSource::new(64 * MIB), Stitched::<usize>::new());
    let held = policy.allocate(&mut source, 8 * MIB, StreamAndPool::from(0)).unwrap();
    let before = policy.statistics().reserved_bytes;
    let given = report(policy.allocate(&mut source, 80 * MIB, StreamAndPool::from(0)));
    assert!(given.certificate.denial().given > 0);
    let after = policy.statistics().reserved_bytes;
    assert_eq!((after.all.current, after.all.peak), (before.all.current, before.all.peak));
    policy.free(held, &[]).unwrap();
}

#[test]
fn page_locked_memory_stays_cached_when_a_request_could_never_be_held() {
    let (mut source, mut policy) = (limited(), BestFit::<usize>::new());
    let cached = policy.allocate(&mut source, 20 * MIB, ()).unwrap();
    policy.free(cached, &[]).unwrap();
    source.take_calls();
    let refused = report(policy.allocate(&mut source, 65 * MIB, ())).certificate.denial();
    assert_eq!((refused.kind, refused.bytes), (RequestKind::Total, 65 * MIB));
    assert_eq!(source.take_calls(), []);
    assert!(policy.allocate(&mut source, 64 * MIB, ()).is_ok());
}

#[test]
fn addresses_for_a_request_beyond_all_memory_take_no_memory_of_the_host() {
    let (mut source, mut policy) = (TestSource::new(64 * MIB), Stitched::<usize>::new());
    for power in 40..64 {
        report(policy.allocate(&mut source, 1 << power, StreamAndPool::from(0)));
    }
    report(policy.allocate(&mut source, u64::MAX, StreamAndPool::from(0)));
    assert!(policy.allocate(&mut source, 64 * MIB, StreamAndPool::from(0)).is_ok());
}
