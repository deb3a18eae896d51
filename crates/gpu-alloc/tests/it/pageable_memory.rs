//! Pageable host memory: its cache, its limit and its statistics.

use std::time::Duration;

use gpu_alloc::{
    Error, allocate_pageable, empty_pageable_cache, pageable_memory_stats,
    reset_accumulated_pageable_memory_stats, reset_peak_pageable_memory_stats,
    set_pageable_cache_limit, set_pageable_limit, trim_pageable_cache,
};
use test_support::isolate;

const MIB: usize = 1 << 20;

#[test]
fn pageable_memory_needs_no_driver_and_is_handed_out_again() {
    isolate(|| {
        let memory = allocate_pageable(5 * MIB).unwrap();
        let first = memory.as_ptr();
        // SAFETY: nobody else uses the memory of five MiB.
        unsafe { first.write_bytes(1, 5 * MIB) };
        assert_eq!((first.addr() % 64, memory.bytes()), (0, 5 * MIB));
        drop(memory);
        assert_eq!(allocate_pageable(5 * MIB).unwrap().as_ptr(), first);
        let stats = pageable_memory_stats();
        assert_eq!((stats.num_host_alloc, stats.active_bytes.peak), (1, 5 * MIB as u64));
    })
    .run();
}

#[test]
fn large_pageable_memory_begins_at_a_huge_page() {
    isolate(|| {
        let large = allocate_pageable(3 * MIB).unwrap();
        assert_eq!(large.as_ptr().addr() % (2 * MIB), 0);
    })
    .run();
}

#[test]
fn too_much_pageable_memory_is_an_error_that_names_the_limit() {
    isolate(|| {
        let held = allocate_pageable(3 * MIB).unwrap();
        let refused = allocate_pageable(2 * MIB).expect_err("the limit is 4 MiB");
        let Error::PageableLimit { requested, in_use, reserved, limit } = refused else {
            panic!("{refused}")
        };
        assert_eq!((requested, in_use, reserved, limit), (2 * MIB, 3 * MIB, 3 * MIB, 4 * MIB));
        set_pageable_limit(5 * MIB);
        drop(allocate_pageable(2 * MIB).unwrap());
        drop(held);
    })
    .env("SLUICE_PAGEABLE_LIMIT", "4MiB")
    .run();
}

#[test]
fn a_pageable_limit_that_is_no_size_is_an_error() {
    isolate(|| {
        let refused = allocate_pageable(1).expect_err("`lots` is no size");
        assert!(matches!(&refused, Error::InvalidEnvironment { value, .. } if value == "lots"));
    })
    .env("SLUICE_PAGEABLE_LIMIT", "lots")
    .run();
}

#[test]
fn what_is_cached_goes_back_when_asked_and_what_is_held_stays() {
    isolate(|| {
        let held = allocate_pageable(MIB).unwrap();
        drop(allocate_pageable(2 * MIB).unwrap());
        assert_eq!(pageable_memory_stats().allocated_bytes.peak, 3 * MIB as u64);
        empty_pageable_cache();
        reset_peak_pageable_memory_stats();
        reset_accumulated_pageable_memory_stats();
        let stats = pageable_memory_stats();
        assert_eq!((stats.allocations.current, stats.allocated_bytes.peak), (1, MIB as u64));
        assert_eq!(stats.num_host_alloc, 0);
        drop(held);
        assert_eq!(trim_pageable_cache(Duration::from_secs(600)), 0);
        assert_eq!(trim_pageable_cache(Duration::ZERO), MIB);
    })
    .run();
}

#[test]
fn no_more_is_cached_than_the_program_allows() {
    isolate(|| {
        set_pageable_cache_limit(2 * MIB).unwrap();
        let held: Vec<_> = (0..4).map(|_| allocate_pageable(2 * MIB).unwrap()).collect();
        drop(held);
        drop(allocate_pageable(32 * MIB).unwrap());
        assert_eq!(trim_pageable_cache(Duration::from_secs(600)), 32 * MIB);
        assert_eq!(pageable_memory_stats().allocated_bytes.current, 2 * MIB as u64);
    })
    .run();
}

#[test]
fn more_than_the_machine_has_is_refused_without_asking_for_it() {
    isolate(|| {
        for bytes in [1 << 50, usize::MAX] {
            let refused = allocate_pageable(bytes).expect_err("no machine has that");
            assert!(matches!(refused, Error::Runtime(_)), "{refused}");
        }
    })
    .run();
}
