//! Memory that other streams used when it was freed is handed out late, but never missing.

use gpu_alloc::policy::{Address, Policy, Stitched, StreamAndPool};

use crate::test_source::TestSource;

const MIB: u64 = 1 << 20;

/// The stream that copies, and the one that reads.
const COPY: usize = 0;
const READ: usize = 1;

/// A loop that copies batches on one stream and reads them on another: where each batch is, and
/// which batch's reader its copy waits for. The reader of each batch is done when `done` says so.
fn copy_ahead(done: impl Fn(u64) -> bool) -> (TestSource, Vec<(Address, Option<u64>)>) {
    let (mut source, mut policy) = (TestSource::new(1024 * MIB), Stitched::<usize>::new());
    let mut batch = |number: u64| {
        let block = policy.allocate(&mut source, 4 * MIB, StreamAndPool::from(COPY)).unwrap();
        let (address, waits_for) = (block.address(), policy.waits_for(&block).next());
        assert!(waits_for.is_none_or(|(stream, _)| stream == READ));
        policy.free(block, &[(COPY, number), (READ, number)]).unwrap();
        if done(number) {
            policy.completed(READ, number);
        }
        (address, waits_for.map(|(_, batch)| batch))
    };
    let batches = (1..=100).map(&mut batch).collect();
    (source, batches)
}

#[test]
fn whoever_copies_ahead_does_not_wait_for_the_last_batches() {
    let (source, batches) = copy_ahead(|_| false);
    for ((_, waits_for), number) in batches.iter().zip(1_u64..) {
        assert!(waits_for.is_none_or(|batch| batch + 17 == number), "{number}: {waits_for:?}");
    }
    assert_eq!(batches.iter().filter(|(_, waits_for)| waits_for.is_some()).count(), 100 - 17);
    assert_eq!(source.device().used(), 68 * MIB, "for 64 MiB there is other memory");
}

#[test]
fn when_it_is_handed_out_does_not_depend_on_how_far_the_streams_have_come() {
    let (_, never) = copy_ahead(|_| false);
    let (_, always) = copy_ahead(|_| true);
    let (_, at_times) = copy_ahead(|number| number.is_multiple_of(7));
    assert_eq!(never, always);
    assert_eq!(never, at_times);
}

#[test]
fn where_memory_is_short_it_is_handed_out_at_once() {
    let (mut source, mut policy) = (TestSource::new(16 * MIB), Stitched::<usize>::new());
    let held = policy.allocate(&mut source, 8 * MIB, StreamAndPool::from(0)).unwrap();
    for round in 1..5 {
        // First the stream's own, then pages of it for another stream.
        for (stream, other) in [(0, 1), (0, 1), (2, 0)] {
            let block = policy.allocate(&mut source, 8 * MIB, StreamAndPool::from(stream)).unwrap();
            policy.free(block, &[(stream, round), (other, round)]).unwrap();
        }
    }
    assert_eq!(policy.statistics().num_ooms, 0);
    policy.free(held, &[]).unwrap();
}

#[test]
fn it_can_be_given_back_once_its_uses_are_over() {
    let (mut source, mut policy) = (TestSource::new(64 * MIB), Stitched::<usize>::new());
    let block = policy.allocate(&mut source, 8 * MIB, StreamAndPool::from(0)).unwrap();
    policy.free(block, &[(1, 7)]).unwrap();
    assert_eq!(policy.statistics().active_bytes.all.current, 0, "it is free");
    assert_eq!(policy.awaited_for_release().collect::<Vec<_>>(), [(1, 7)]);
    assert_eq!(policy.release_cached(&mut source), 0);
    policy.completed(1, 7);
    assert_eq!(policy.release_cached(&mut source), 8 * MIB);
    assert_eq!(source.device().used(), 0);
}

#[test]
fn what_is_awaited_before_it_is_given_back_includes_the_uses_of_its_neighbours() {
    let (mut source, mut policy) = (TestSource::new(64 * MIB), Stitched::<usize>::new());
    let [one, two] =
        [MIB, MIB].map(|bytes| policy.allocate(&mut source, bytes, StreamAndPool::from(0)));
    policy.free(one.unwrap(), &[(0, 3)]).unwrap();
    policy.free(two.unwrap(), &[(1, 7)]).unwrap();
    for (stream, sequence) in policy.awaited_for_release().collect::<Vec<_>>() {
        policy.completed(stream, sequence);
    }
    assert_eq!(policy.release_cached(&mut source), 2 * MIB);
}

#[test]
fn what_a_stream_has_borrowed_it_gets_back_at_once() {
    let (mut source, mut policy) = (TestSource::new(8 * MIB), Stitched::<usize>::new());
    let block = policy.allocate(&mut source, 8 * MIB, StreamAndPool::from(0)).unwrap();
    policy.free(block, &[(0, 3)]).unwrap();
    let mut borrow = |work| {
        let block = policy.allocate(&mut source, MIB, StreamAndPool::from(1)).unwrap();
        let (address, waits) = (block.address(), policy.waits_for(&block).collect::<Vec<_>>());
        policy.free(block, &[(1, work)]).unwrap();
        (address, waits)
    };
    let (first, waits) = borrow(1);
    assert_eq!(waits, [(0, 3)]);
    assert_eq!(borrow(2).0, first);
}
