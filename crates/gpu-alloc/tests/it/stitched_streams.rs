//! More streams than a policy has stream caches, and streams that come and go.

use gpu_alloc::policy::{Lending, Policy, Stitched, StreamAndPool, StreamCaches};

use crate::test_source::TestSource;

const MIB: u64 = 1 << 20;
const STREAM_CACHES: usize = StreamCaches::<usize>::MAX_STREAMS;

/// Has streams hold some memory, one after the other, and be done with it.
fn come_and_go(
    source: &mut TestSource,
    policy: &mut Stitched<usize>,
    streams: impl IntoIterator<Item = usize>,
) {
    for stream in streams {
        let block = policy.allocate(source, 3 * MIB, stream.into()).expect("there is room");
        policy.free(block, &[(stream, 1)]).unwrap();
        policy.end_stream(stream);
    }
}

#[test]
fn more_streams_than_caches_are_served() {
    let mut source = TestSource::new(1 << 30);
    let mut policy = Stitched::<usize>::new();
    let blocks: Vec<_> = (0..80)
        .map(|stream| policy.allocate(&mut source, 3 * MIB, stream.into()).expect("there is room"))
        .collect();
    assert_eq!(policy.statistics().allocation.all.peak, 80);
    for (stream, block) in (0..80).zip(blocks) {
        policy.free(block, &[(stream, 1)]).unwrap();
    }
    for stream in 0..80 {
        let block = policy.allocate(&mut source, 3 * MIB, stream.into()).expect("there is room");
        assert_eq!(block.last_use(), 1);
        policy.free(block, &[]).unwrap();
    }
    let allocated = policy.statistics().allocated_bytes.all;
    assert_eq!((allocated.current, allocated.peak), (0, 240 * MIB));
}

#[test]
fn a_stream_gets_the_cache_of_one_that_is_gone_and_waits_for_nothing_there() {
    let (mut source, mut policy) = (TestSource::new(1 << 30), Stitched::new());
    come_and_go(&mut source, &mut policy, 0..10 * STREAM_CACHES);
    let calls = policy.statistics().num_device_alloc;
    let (caches, mut lending) = (StreamCaches::<usize>::new(), Lending::new(policy));
    for stream in 1000..1000 + STREAM_CACHES {
        let policy = caches.recall(&mut lending, |_| ());
        let block = policy.allocate(&mut source, 3 * MIB, stream.into()).expect("there is room");
        assert_eq!((block.last_use(), policy.waits_for(&block).count()), (0, 0));
        policy.free(block, &[]).unwrap();
        assert!(caches.lend(&mut lending, stream, |_| ()), "it has a stream cache");
    }
    let policy = caches.recall(&mut lending, |_| ());
    assert_eq!(policy.statistics().num_device_alloc, calls, "what was left serves them");
    let late = policy.allocate(&mut source, MIB, (2000).into()).expect("there is room");
    assert!(!caches.lend(&mut lending, 2000, |_| ()), "all stream caches are taken");
    caches.recall(&mut lending, |_| ()).free(late, &[]).unwrap();
}

#[test]
fn streams_without_caches_leave_their_addresses_to_others() {
    let (mut source, mut policy) = (TestSource::new(1 << 30), Stitched::new());
    let mut allocate = |policy: &mut Stitched<usize>, stream: usize| {
        policy.allocate(&mut source, 3 * MIB, stream.into()).expect("there is room")
    };
    let held: Vec<_> = (0..STREAM_CACHES).map(|stream| allocate(&mut policy, stream)).collect();
    let block = allocate(&mut policy, 100);
    let address = block.address();
    policy.free(block, &[(100, 1)]).unwrap();
    for stream in 101..140 {
        policy.end_stream(stream - 1);
        let block = allocate(&mut policy, stream);
        assert_eq!((block.address(), block.last_use()), (address, 0));
        policy.free(block, &[(stream, 1)]).unwrap();
    }
    held.into_iter().for_each(|block| policy.free(block, &[]).unwrap());
}

#[test]
fn a_stream_that_holds_memory_is_not_gone() {
    let (mut source, mut policy) = (TestSource::new(1 << 30), Stitched::<usize>::new());
    let block =
        policy.allocate(&mut source, 3 * MIB, StreamAndPool::from(0)).expect("there is room");
    policy.end_stream(0);
    let (caches, mut lending) = (StreamCaches::<usize>::new(), Lending::new(policy));
    assert!(caches.lend(&mut lending, 0, |_| ()));
    let policy = caches.recall(&mut lending, |_| ());
    policy.free(block, &[(0, 7)]).unwrap();
    let again =
        policy.allocate(&mut source, 3 * MIB, StreamAndPool::from(0)).expect("there is room");
    assert_eq!(again.last_use(), 7);
    policy.free(again, &[]).unwrap();
}

#[test]
fn nobody_waits_for_a_stream_that_is_gone() {
    let (mut source, mut policy) = (TestSource::new(1 << 30), Stitched::<usize>::new());
    let block =
        policy.allocate(&mut source, 3 * MIB, StreamAndPool::from(0)).expect("there is room");
    policy.free(block, &[(1, 4)]).unwrap();
    policy.end_stream(1);
    assert_eq!(policy.awaited_for_release().count(), 0);
    policy.release_cached(&mut source);
    assert_eq!(source.device().used(), 0);
    assert!(!policy.streams().contains(&1));
}
