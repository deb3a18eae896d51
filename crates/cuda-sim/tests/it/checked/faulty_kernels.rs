//! Kernels that touch memory which they may not touch, or which nobody wrote.

use cuda_sim::control::ReportKind::{self, *};

use super::bench::Argument::*;
use super::bench::{Argument, At, CHECKED, Faulty, Launch};
use crate::sim::in_child;

const MEMORY: &str = concat!(include_str!("../../ptx/faulty/memory.ptx"), "\0");

/// One block of a kernel.
const fn case(
    kernel: &'static str,
    threads: u32,
    arguments: &'static [Argument],
    kind: ReportKind,
    thread: u32,
    at: At,
) -> Faulty {
    let launch = Launch { kernel, blocks: 1, threads, shared: 256, arguments };
    Faulty { launch, kind, threads: thread..thread + 1, at }
}

#[rustfmt::skip]
const CASES: &[Faulty] = &[
    // Past the end, also where the allocation ends with what is taken for it.
    case("write_at", 32, &[Zeros(100), Number(0)], OutOfBounds, 25, At::Argument(0, 100)),
    case("write_at", 32, &[Zeros(512), Number(120)], OutOfBounds, 8, At::Argument(0, 512)),
    case("write_at", 1, &[Zeros(4 << 20), Number(1 << 20)], OutOfBounds, 0, At::Argument(0, 4 << 20)),
    case("write_at", 32, &[Zeros(64), Number(-2)], OutOfBounds, 0, At::Argument(0, -8)),
    case("write_at", 1, &[Number(0), Number(4)], OutOfBounds, 0, At::Nowhere(0, 16)),
    case("read_at", 32, &[Zeros(4), Zeros(64), Number(0)], OutOfBounds, 16, At::Argument(1, 64)),
    case("read_at", 1, &[Zeros(4), Pinned(4096), Number(1024)], OutOfBounds, 0, At::Argument(1, 4096)),
    case("add_at", 1, &[Zeros(64), Number(16)], OutOfBounds, 0, At::Argument(0, 64)),
    case("read_double", 1, &[Zeros(8), Zeros(12), Number(8)], OutOfBounds, 0, At::Argument(1, 8)),
    case("read_vector", 1, &[Zeros(16), Zeros(40), Number(32)], OutOfBounds, 0, At::Argument(1, 32)),
    case("table_at", 1, &[Variable("table"), Number(4)], OutOfBounds, 0, At::Argument(0, 16)),
    case("fixed_at", 1, &[Zeros(4), Variable("fixed"), Number(4)], OutOfBounds, 0, At::Argument(1, 16)),
    case("write_at", 8, &[Variable("fixed"), Number(2)], ReadOnly, 0, At::Argument(0, 8)),
    case("add_at", 1, &[Variable("fixed"), Number(1)], ReadOnly, 0, At::Argument(0, 4)),
    case("shared_at", 64, &[Zeros(256), Number(128)], OutOfBounds, 0, At::Place(512)),
    case("local_at", 8, &[Zeros(64), Number(2)], OutOfBounds, 6, At::Place(32)),
    // Misaligned.
    case("read_double", 1, &[Zeros(8), Zeros(64), Number(4)], Misaligned, 0, At::Argument(1, 4)),
    case("read_vector", 1, &[Zeros(16), Zeros(64), Number(8)], Misaligned, 0, At::Argument(1, 8)),
    // Not the device's, or not any more.
    case("write_at", 1, &[Freed(256), Number(3)], UseAfterFree, 0, At::Argument(0, 12)),
    case("read_at", 1, &[Zeros(4), Freed(4 << 20), Number(7)], UseAfterFree, 0, At::Argument(1, 28)),
    case("add_at", 1, &[Freed(256), Number(0)], UseAfterFree, 0, At::Argument(0, 0)),
    case("read_at", 1, &[Zeros(4), FreedPinned(4096), Number(0)], UseAfterFree, 0, At::Argument(1, 0)),
    case("read_at", 1, &[Zeros(4), Host, Number(1)], OutOfBounds, 0, At::Nowhere(1, 4)),
    case("write_at", 1, &[Foreign(64), Number(1)], NoPeerAccess, 0, At::Argument(0, 4)),
    case("read_at", 1, &[Zeros(4), Foreign(64), Number(1)], NoPeerAccess, 0, At::Argument(1, 4)),
    case("write_at", 32, &[Pooled(100), Number(0)], OutOfBounds, 25, At::Argument(0, 100)),
    case("write_at", 1, &[PooledFreed(256), Number(3)], UseAfterFree, 0, At::Argument(0, 12)),
    case("write_at", 1, &[PooledForeign(64), Number(1)], NoPeerAccess, 0, At::Argument(0, 4)),
    case("write_at", 1, &[Mapped, Number(1 << 19)], OutOfBounds, 0, At::Argument(0, 2 << 20)),
    case("write_at", 1, &[Unmapped, Number(3)], UseAfterFree, 0, At::Argument(0, 12)),
    case("add_at", 1, &[MappedReadOnly, Number(1)], ReadOnly, 0, At::Argument(0, 4)),
    // What nobody wrote.
    case("read_at", 1, &[Zeros(4), Pooled(64), Number(1)], Uninitialized, 0, At::Argument(1, 4)),
    case("read_at", 1, &[Zeros(4), PooledAgain(64), Number(1)], Uninitialized, 0, At::Argument(1, 4)),
    case("add_at", 1, &[Mapped, Number(9)], Uninitialized, 0, At::Argument(0, 36)),
    case("read_at", 1, &[Zeros(4), Unwritten(64), Number(1)], Uninitialized, 0, At::Argument(1, 4)),
    case("read_at", 16, &[Zeros(4), Partly(64, 40), Number(0)], Uninitialized, 10, At::Argument(1, 40)),
    case("read_at", 1, &[Zeros(4), CopyOfUnwritten(64), Number(2)], Uninitialized, 0, At::Argument(1, 8)),
    case("read_vector", 1, &[Zeros(16), Partly(64, 16), Number(16)], Uninitialized, 0, At::Argument(1, 16)),
    case("add_at", 1, &[Unwritten(64), Number(0)], Uninitialized, 0, At::Argument(0, 0)),
    case("shared_unwritten", 64, &[Zeros(256)], Uninitialized, 9, At::Place(36)),
    case("dynamic_unwritten", 64, &[Zeros(256)], Uninitialized, 0, At::Place(0)),
    case("local_unwritten", 16, &[Zeros(64), Number(5)], Uninitialized, 5, At::Place(20)),
];

#[test]
fn accesses_that_are_not_allowed_are_reported_with_thread_address_and_allocation() {
    in_child(CHECKED, || {
        assert!(CASES.len() >= 30);
        CASES.iter().for_each(|case| case.check(MEMORY));
    });
}

#[test]
fn a_use_after_free_tells_who_allocated_and_who_freed() {
    in_child(CHECKED, || {
        let case = CASES.iter().find(|case| case.kind == UseAfterFree).expect("there is one");
        let outcome = case.launch.run(MEMORY);
        let allocation = outcome.reports[0].allocation.as_ref().expect("an allocation");
        assert_eq!(allocation.made.function, "cuMemAlloc_v2");
        let freed = allocation.freed.as_ref().expect("it was freed");
        assert_eq!(freed.function, "cuMemFree_v2");
        assert!(freed.call > allocation.made.call);
        let frames = allocation.made.frames();
        assert!(frames.iter().any(|frame| frame.contains("allocate")), "{frames:?}");
    });
}
