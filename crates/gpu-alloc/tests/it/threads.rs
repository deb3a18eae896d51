//! Many threads on many streams and devices: each finds in its memory what it wrote.

use std::thread;

use cuda_sim::control::counters;
use gpu_alloc::policy::StreamCaches;
use gpu_alloc::{
    allocate, allocate_pinned, memory_allocated, memory_reserved, memory_snapshot, memory_stats,
};
use gpu_runtime::{Device, Stream};
use test_support::isolate;

use crate::device_support::{Gate, devices, fill, read, upload};

const THREADS: usize = 8;
const ROUNDS: usize = 60;

/// Fills, hands over and reads memory of many sizes on two streams of its own.
fn churn(device: Device, seed: usize) {
    let streams = [(); 2].map(|()| Stream::new(device).unwrap());
    let mut held = Vec::new();
    for round in 0..ROUNDS {
        let mark = (seed * ROUNDS + round) as u8;
        let bytes = 1 + (seed * 7919 + round * 104_729) % 300_000;
        let memory = allocate(device, bytes, &streams[round % 2]).unwrap();
        fill(&streams[(round / 2) % 2], &memory, mark);
        held.push((mark, memory));
        if held.len() > 5 {
            let (mark, memory) = held.swap_remove(round % 5);
            let found = read(&streams[round % 2], &memory);
            assert!(found.iter().all(|byte| *byte == mark));
        }
    }
}

#[test]
fn threads_and_streams_do_not_disturb_each_others_memory() {
    isolate(|| {
        let devices = devices();
        thread::scope(|scope| {
            for seed in 0..THREADS {
                scope.spawn(move || churn(devices[seed % 2], seed));
            }
        });
        for device in devices {
            assert_eq!(memory_allocated(device), 0);
            device.synchronize().unwrap();
        }
        let allocated: u64 =
            devices.iter().map(|d| memory_stats(*d).allocation.all.allocated).sum();
        assert_eq!(allocated, (THREADS * ROUNDS) as u64);
        let segments = memory_snapshot().segments;
        let reserved: u64 = segments.iter().map(|segment| segment.total_size).sum();
        let counted = devices.map(|d| memory_stats(d).reserved_bytes.all.current);
        assert_eq!(reserved, counted.iter().sum::<u64>());
    })
    .run();
}

/// Each of the two allocators forgets the streams that are gone when it knows as many as there are
/// stream caches. The one of page-locked memory knows those only whose copies were not done when the memory
/// came back; here the first ones, which it then keeps while the other's come and go.
#[test]
fn streams_that_are_gone_are_let_go_and_leave_their_memory_to_others() {
    const KNOWN: usize = StreamCaches::<usize>::MAX_STREAMS;
    isolate(|| {
        let [device, ..] = devices();
        let mut reserved = Vec::new();
        for round in 0..200 {
            let stream = Stream::new(device).unwrap();
            let memory = allocate(device, 1 << 20, &stream).unwrap();
            let pinned = allocate_pinned(1000).unwrap();
            let gate = (round < KNOWN - 1).then(|| Gate::close(&stream));
            upload(&stream, &memory, &pinned);
            if gate.is_none() {
                stream.synchronize().unwrap();
            }
            drop((memory, pinned, gate));
            stream.synchronize().unwrap();
            reserved.push(memory_reserved(device));
        }
        assert_eq!(counters().streams, KNOWN - 1 + KNOWN + 1, "what either knows, and the newest");
        assert_eq!(reserved[50], reserved[199]);
        let ranges = counters().calls["cuMemAddressReserve"];
        assert!(ranges <= 40, "{ranges} ranges of addresses for no more than 32 streams at once");
    })
    .env("SLUICE_ALLOCATOR", "stitched")
    .run();
}
