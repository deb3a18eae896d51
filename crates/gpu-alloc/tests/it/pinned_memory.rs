//! Page-locked memory: reuse, what delays it, and the limit.

use std::time::Duration;

use gpu_alloc::{
    Error, allocate, allocate_pinned, empty_host_cache, host_memory_stats,
    reset_accumulated_host_memory_stats, reset_peak_host_memory_stats, set_pinned_cache_limit,
    set_pinned_limit, trim_host_cache,
};
use test_support::isolate;

use crate::device_support::{Gate, devices, read, upload};

const MIB: usize = 1 << 20;

#[test]
fn dropped_pinned_memory_is_handed_out_again() {
    isolate(|| {
        devices();
        let first = allocate_pinned(100_000).unwrap().as_ptr();
        for bytes in [100_000, 99_000, 500_000] {
            assert_eq!(allocate_pinned(bytes).unwrap().as_ptr(), first);
        }
        let stats = host_memory_stats();
        assert_eq!((stats.num_host_alloc, stats.num_host_free), (1, 0));
        assert_eq!((stats.active_bytes.current, stats.allocations.current), (0, 1));
        assert_eq!((stats.host_alloc_time.count, stats.host_free_time.count), (1, 0));
        empty_host_cache();
        assert_eq!(host_memory_stats().host_free_time.count, 1);
    })
    .run();
}

#[test]
fn zero_pinned_bytes_are_a_null_pointer() {
    isolate(|| {
        devices();
        assert!(allocate_pinned(0).unwrap().as_ptr().is_null());
        assert_eq!(host_memory_stats().num_host_alloc, 0);
    })
    .run();
}

#[test]
fn pinned_memory_is_not_handed_out_again_before_its_copies_are_done() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let target = allocate(device, 5000, &stream).unwrap();
        let pinned = allocate_pinned(5000).unwrap();
        let first = pinned.as_ptr();
        // SAFETY: nobody else uses the new memory of 5000 bytes.
        unsafe { first.write_bytes(9, 5000) };
        let gate = Gate::close(&stream);
        upload(&stream, &target, &pinned);
        drop(pinned);

        let other = allocate_pinned(5000).unwrap();
        assert_ne!(other.as_ptr(), first, "the copy has not read it yet");
        // SAFETY: nobody else uses the other memory of 5000 bytes.
        unsafe { other.as_ptr().write_bytes(1, 5000) };
        gate.open();
        assert!(read(&stream, &target).iter().all(|byte| *byte == 9));
        assert_eq!(allocate_pinned(5000).unwrap().as_ptr(), first);
    })
    .run();
}

#[test]
fn too_much_pinned_memory_is_an_error_that_names_the_limit() {
    isolate(|| {
        devices();
        let held = allocate_pinned(3 * MIB).unwrap();
        let refused = allocate_pinned(2 * MIB).expect_err("the limit is 4 MiB");
        let Error::PinnedLimit { requested, in_use, pinned, limit } = refused else {
            panic!("{refused}")
        };
        assert_eq!((requested, in_use, pinned, limit), (2 * MIB, 3 * MIB, 3 * MIB, 4 * MIB));
        set_pinned_limit(5 * MIB);
        drop(allocate_pinned(2 * MIB).unwrap());
        drop(held);
    })
    .env("SLUICE_PINNED_LIMIT", "4MiB")
    .run();
}

#[test]
fn cached_pinned_memory_makes_room_at_the_limit() {
    isolate(|| {
        devices();
        set_pinned_limit(4 * MIB);
        drop(allocate_pinned(3 * MIB).unwrap());
        drop(allocate_pinned(4 * MIB).unwrap());
        assert_eq!(host_memory_stats().allocated_bytes.current, 4 * MIB as u64);
    })
    .env("SLUICE_PINNED_LIMIT", "not read when the program sets a limit first")
    .run();
}

#[test]
fn a_pinned_limit_that_is_no_size_is_an_error() {
    isolate(|| {
        devices();
        let refused = allocate_pinned(1).expect_err("`lots` is no size");
        assert!(matches!(&refused, Error::InvalidEnvironment { value, .. } if value == "lots"));
    })
    .env("SLUICE_PINNED_LIMIT", "lots")
    .run();
}

#[test]
fn emptying_the_host_cache_keeps_what_is_held() {
    isolate(|| {
        devices();
        let held = allocate_pinned(MIB).unwrap();
        drop(allocate_pinned(2 * MIB).unwrap());
        assert_eq!(host_memory_stats().allocated_bytes.peak, 3 * MIB as u64);
        empty_host_cache();
        reset_peak_host_memory_stats();
        let stats = host_memory_stats();
        assert_eq!((stats.allocations.current, stats.allocated_bytes.peak), (1, MIB as u64));
        drop(held);
    })
    .run();
}

#[test]
fn pinned_memory_is_cut_from_one_segment_and_merged_when_dropped() {
    isolate(|| {
        devices();
        let held = [(); 16].map(|()| allocate_pinned(60_000).unwrap());
        let stats = host_memory_stats();
        assert_eq!((stats.active_requests.current, stats.num_host_alloc), (16, 1));
        let waste = stats.active_bytes.current - 16 * 60_000;
        assert!(waste * 8 <= 16 * 60_000, "{waste} bytes of waste");
        for one in &held {
            assert_eq!(one.as_ptr().addr() % 64, 0);
        }
        let first = held.iter().map(|one| one.as_ptr()).min();
        drop(held);
        assert_eq!(Some(allocate_pinned(MIB).unwrap().as_ptr()), first);
        assert_eq!(host_memory_stats().num_host_alloc, 1);
    })
    .run();
}

#[test]
fn pinned_memory_that_nobody_uses_is_trimmed_and_what_a_copy_uses_is_not() {
    isolate(|| {
        let [device, ..] = devices();
        let stream = device.default_stream().unwrap();
        let target = allocate(device, 2 * MIB, &stream).unwrap();
        let copied = allocate_pinned(2 * MIB).unwrap();
        let gate = Gate::close(&stream);
        upload(&stream, &target, &copied);
        drop(copied);
        assert_eq!(trim_host_cache(Duration::ZERO), 0);
        gate.open();
        stream.synchronize().unwrap();
        assert_eq!(trim_host_cache(Duration::from_secs(3600)), 0);
        assert_eq!(trim_host_cache(Duration::ZERO), 2 * MIB);
        assert_eq!(host_memory_stats().allocated_bytes.current, 0);
    })
    .run();
}

#[test]
fn the_pinned_cache_keeps_no_more_than_its_limit_when_it_grows() {
    isolate(|| {
        devices();
        set_pinned_cache_limit(2 * MIB).unwrap();
        let held = [2, 3, 4].map(|mib| allocate_pinned(mib * MIB).unwrap());
        drop(held);
        assert_eq!(host_memory_stats().allocated_bytes.current, 9 * MIB as u64, "a drop is fast");
        let _large = allocate_pinned(5 * MIB).unwrap();
        let stats = host_memory_stats();
        assert_eq!(stats.allocated_bytes.current, 7 * MIB as u64);
        let (taken, given) = (stats.host_alloc_time, stats.host_free_time);
        assert_eq!((taken.count, given.count), (stats.num_host_alloc, stats.num_host_free));
        reset_accumulated_host_memory_stats();
        let stats = host_memory_stats();
        assert_eq!((stats.num_host_alloc, stats.host_alloc_time.count), (0, 0));
        assert_eq!(stats.allocated_bytes.peak, 9 * MIB as u64);
    })
    .run();
}
