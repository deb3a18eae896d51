//! The statistics of devices, their summary and snapshot.

use gpu_alloc::policy::BlockState;
use gpu_alloc::{
    allocate, max_memory_allocated, max_memory_reserved, memory_allocated, memory_reserved,
    memory_snapshot, memory_stats, memory_summary, reset_accumulated_memory_stats,
    reset_peak_memory_stats,
};
use test_support::isolate;

use crate::device_support::devices;

const MIB: usize = 1 << 20;

#[test]
fn statistics_are_zero_before_the_first_use() {
    isolate(|| {
        let [device, ..] = devices();
        assert_eq!((memory_allocated(device), max_memory_reserved(device)), (0, 0));
        assert_eq!(memory_stats(device), Default::default());
        assert!(memory_snapshot().segments.is_empty());
        assert!(memory_summary(device).contains("allocated memory"));
    })
    .run();
}

#[test]
fn peaks_last_until_they_are_reset() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let kept = allocate(device, 1000, &stream).unwrap();
        drop(allocate(device, 30 * MIB, &stream).unwrap());
        assert_eq!((memory_allocated(device), memory_reserved(device)), (1024, 32 * MIB));
        assert_eq!(max_memory_allocated(device), 30 * MIB + 1024);
        assert_eq!(max_memory_reserved(device), 32 * MIB);
        reset_peak_memory_stats(device);
        assert_eq!(max_memory_allocated(device), 1024);
        assert_eq!(memory_stats(device).allocated_bytes.all.allocated, 30 * (MIB as u64) + 1024);
        reset_accumulated_memory_stats(device);
        assert_eq!(memory_stats(device).allocated_bytes.all.allocated, 0);
        drop(kept);
    })
    .run();
}

#[test]
fn each_device_has_its_own_statistics() {
    isolate(|| {
        let devices = devices();
        let held: Vec<_> = devices
            .iter()
            .zip(1..)
            .map(|(device, n)| {
                allocate(*device, n * 512, &device.default_stream().unwrap()).unwrap()
            })
            .collect();
        assert_eq!(devices.map(memory_allocated), [512, 1024, 1536, 2048]);
        drop(held);
        assert_eq!(devices.map(memory_allocated), [0; 4]);
    })
    .run();
}

#[test]
fn a_snapshot_shows_every_segment_and_block() {
    isolate(|| {
        let [one, two, ..] = devices();
        let (main, far) = (one.default_stream().unwrap(), two.default_stream().unwrap());
        let small = allocate(one, 100, &main).unwrap();
        let large = allocate(two, 11 * MIB, &far).unwrap();
        let snapshot = memory_snapshot();
        let [first, second] = &snapshot.segments[..] else { panic!("two segments: {snapshot:?}") };
        assert_eq!((first.device, second.device), (one.index(), two.index()));
        assert_eq!((first.stream, second.stream), (main.id().number(), far.id().number()));
        assert_eq!(first.address, small.ptr().address());
        assert_eq!((first.total_size, first.requested_size), (2 * MIB as u64, 100));
        let states: Vec<_> = first.blocks.iter().map(|b| (b.size, b.state)).collect();
        let rest = 2 * MIB as u64 - 512;
        assert_eq!(states, [(512, BlockState::ActiveAllocated), (rest, BlockState::Inactive)]);
        assert_eq!(second.allocated_size, 12 * MIB as u64, "too little is left to split");
        drop(large);
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn the_summary_is_a_table_of_the_statistics() {
    isolate(|| {
        let [device, ..] = devices();
        let memory = allocate(device, 3 * MIB, &device.default_stream().unwrap()).unwrap();
        let summary = memory_summary(device);
        assert!(summary.starts_with("cuda:0"), "{summary}");
        let row = summary.lines().find(|line| line.starts_with("reserved memory")).unwrap();
        let cells: Vec<_> =
            row.split("  ").filter(|cell| !cell.is_empty()).map(str::trim).collect();
        assert_eq!(cells, ["reserved memory", "20.00 MiB", "20.00 MiB", "20.00 MiB", "0 B"]);
        let widths: Vec<_> = summary.lines().skip(5).map(str::len).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{summary}");
        for row in ["allocations", "oversize segments"] {
            assert!(summary.lines().any(|line| line.starts_with(row)), "{row} is missing");
        }
        drop(memory);
    })
    .env("SLUICE_ALLOCATOR", "pytorch")
    .run();
}

#[test]
fn the_summary_says_what_cannot_go_back_to_the_driver() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let [freed, held] = [(); 2].map(|()| allocate(device, 3 << 20, &stream).unwrap());
        drop(freed);
        let summary = memory_summary(device);
        assert!(summary.contains("free beside what is held: 1.00 MiB"), "{summary}");
        assert!(summary.contains("the largest run of free memory: 3.00 MiB"), "{summary}");
        drop(held);
    })
    .env("SLUICE_ALLOCATOR", "stitched")
    .run();
}
