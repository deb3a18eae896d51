//! Streams that do not get in each other's way.

use gpu_alloc::policy::{Lending, Policy, Stitched, StreamCaches};

use crate::test_source::TestSource;

const STREAMS: [usize; 3] = [3, 5, 8];

/// A policy whose streams have each held a block of 1000 bytes, all at once.
fn streams_that_hold_little() -> (TestSource, Stitched<usize>) {
    let (mut source, mut policy) = (TestSource::new(1 << 30), Stitched::new());
    let blocks = STREAMS.map(|stream| policy.allocate(&mut source, 1000, stream.into()).unwrap());
    assert!(blocks.iter().all(|block| policy.waits_for(block).next().is_none()));
    blocks.into_iter().for_each(|block| policy.free(block, &[]).unwrap());
    (source, policy)
}

#[test]
fn streams_that_hold_little_borrow_nothing_from_each_other() {
    let (_source, policy) = streams_that_hold_little();
    let (caches, mut lending) = (StreamCaches::<usize>::new(), Lending::new(policy));
    assert!(STREAMS.iter().all(|stream| caches.lend(&mut lending, *stream, |_| ())));
    for stream in STREAMS {
        let block = caches.allocate(stream, 1000, |_, _| ()).expect("it has memory of its own");
        caches.free(block, &[(stream, 1)]).unwrap();
    }
}
