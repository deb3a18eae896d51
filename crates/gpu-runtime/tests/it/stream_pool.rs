//! Streams of the driver that are handed out again, and never to two owners.

use std::collections::HashSet;

use cuda_sim::control::counters;
use gpu_runtime::{Device, Stream};
use test_support::isolate;

use crate::fixture::{Gate, device, start};

/// How many streams the driver was asked to create.
fn created() -> u64 {
    counters().calls.get("cuStreamCreateWithPriority").copied().unwrap_or(0)
}

fn streams(count: usize) -> Vec<Stream> {
    (0..count).map(|_| Stream::new(device()).expect("a stream")).collect()
}

#[test]
fn up_to_32_dropped_streams_of_a_priority_are_handed_out_again() {
    isolate(|| {
        drop(streams(40));
        assert_eq!((created(), counters().streams), (40, 32));
        let again = streams(40);
        assert_eq!(created(), 48);
        let urgent = Stream::with_priority(device(), -1).expect("a stream");
        assert_eq!(created(), 49, "a stream of another priority is another one");
        drop((again, urgent));
        assert_eq!(counters().streams, 33);
        device().release_idle_handles();
        assert_eq!(counters().streams, 0);
    })
    .steers_software_driver()
    .run();
}

#[test]
fn no_two_living_streams_share_one_of_the_driver() {
    isolate(|| {
        drop(streams(40));
        let living = streams(200);
        let handles: HashSet<_> = living.iter().map(Stream::as_raw).collect();
        assert_eq!(handles.len(), living.len());
    })
    .run();
}

#[test]
fn a_dropped_stream_that_still_works_holds_nobody() {
    // As many were there before: NVIDIA's driver has what those take that are made meanwhile.
    drop(streams(41));
    let held = Stream::new(device()).expect("a stream");
    let gate = Gate::hold(&held);
    gate.wait_until_reached();
    drop(held);
    let others = streams(40);
    for stream in &others {
        stream.synchronize().expect("it is not the one that is held");
    }
    gate.open();
}

#[test]
fn a_stream_from_the_pool_knows_nothing_of_its_last_owner() {
    start();
    let Ok(last) = Device::count().and_then(|count| Device::get(count - 1)) else { return };
    let first = Stream::new(last).expect("a stream");
    first.add_callback(|| ()).expect("the callback is taken");
    first.synchronize().expect("the device works");
    let name = first.id();
    drop(first);
    let next = Stream::new(last).expect("a stream");
    assert_ne!(next.id(), name);
    assert_eq!((next.sequence(), next.completed()), (0, 0));
}
