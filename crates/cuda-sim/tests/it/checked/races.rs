//! Kernels whose threads race, or use barriers and shuffles wrongly.

use cuda_sim::control::ReportKind::{self, *};

use super::bench::Argument::*;
use super::bench::{Argument, At, Faulty, Launch};
use crate::sim::in_child;

const RACES: &str = concat!(include_str!("../../ptx/faulty/races.ptx"), "\0");

/// Without a look at who wrote what: a thread that does not wait reads, more often than not, what
/// nobody has written yet.
const CHECKED: &[(&str, &str)] =
    &[("CUDA_SIM_CHECK", "memory,shared,global"), ("CUDA_SIM_SCHEDULE", "fast")];

const fn case(
    kernel: &'static str,
    [blocks, threads]: [u32; 2],
    arguments: &'static [Argument],
    kind: ReportKind,
    at: At,
) -> Faulty {
    let launch = Launch { kernel, blocks, threads, shared: 0, arguments };
    Faulty { launch, kind, threads: 0..threads, at }
}

#[rustfmt::skip]
const CASES: &[Faulty] = &[
    case("no_sync", [1, 64], &[Zeros(256)], SharedRace, At::Any),
    case("reduce_without_sync", [1, 128], &[Zeros(256)], SharedRace, At::Any),
    case("tile_without_second_sync", [1, 64], &[Zeros(256)], SharedRace, At::Any),
    case("warp_without_sync", [1, 32], &[Zeros(256)], SharedRace, At::Any),
    case("shuffle_is_no_barrier", [1, 32], &[Zeros(256)], SharedRace, At::Any),
    case("mask_too_small", [1, 32], &[Zeros(256)], SharedRace, At::Any),
    case("sum_read_too_early", [1, 64], &[Zeros(256)], SharedRace, At::Place(0)),
    case("barrier_of_others", [1, 96], &[Zeros(512)], SharedRace, At::Any),
    case("arrives_and_reads", [1, 64], &[Zeros(256)], SharedRace, At::Any),
    case("all_write_shared", [1, 64], &[Zeros(256)], SharedRace, At::Place(0)),
    case("neighbours", [4, 32], &[Zeros(512)], GlobalRace, At::Within(0)),
    case("global_without_sync", [1, 64], &[Zeros(512)], GlobalRace, At::Within(0)),
    case("blocks_write", [4, 32], &[Zeros(256)], GlobalRace, At::Argument(0, 0)),
    case("counts_without_atomics", [4, 32], &[Zeros(256)], GlobalRace, At::Argument(0, 0)),
    case("stencil_in_place", [2, 64], &[Zeros(512)], GlobalRace, At::Within(0)),
    case("flag_without_fence", [2, 1], &[Zeros(8), Zeros(4)], GlobalRace, At::Argument(0, 0)),
    case("lock_without_release", [4, 1], &[Zeros(4), Zeros(4)], GlobalRace, At::Any),
    case("lock_without_fence", [4, 1], &[Zeros(4), Zeros(4)], GlobalRace, At::Argument(0, 0)),
    case("last_block_without_fence", [4, 1], &[Zeros(64), Zeros(4)], GlobalRace, At::Within(0)),
    case("plain_beside_atomic", [2, 1], &[Zeros(8)], GlobalRace, At::Argument(0, 0)),
    case("leaves_before_barrier", [1, 64], &[Zeros(256), Number(40)], Barrier, At::None),
    case("counts_differ", [1, 64], &[Zeros(256)], Barrier, At::None),
    case("odd_count", [1, 64], &[Zeros(256), Number(48)], Barrier, At::None),
    case("half_waits", [1, 64], &[], Barrier, At::None),
    case("shuffles_from_nobody", [1, 32], &[Zeros(256)], InactiveLane, At::None),
];

#[test]
fn races_and_misused_barriers_are_reported_with_both_sides() {
    in_child(CHECKED, || {
        for case in CASES {
            case.check(RACES);
            if !matches!(case.kind, SharedRace | GlobalRace) {
                continue;
            }
            let report = case.launch.run(RACES).reports.remove(0);
            let (actor, other) =
                (report.actor.expect("one side"), report.other.expect("the other"));
            assert_eq!(other.kernel.as_deref(), Some(case.launch.kernel));
            assert_ne!((actor.block, actor.thread), (other.block, other.thread));
            assert!(other.ptx_line > 0 && other.source.is_some());
            assert!(!report.detail.is_empty());
        }
    });
}
