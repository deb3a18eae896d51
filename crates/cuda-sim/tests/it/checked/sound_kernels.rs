//! Kernels that look like faulty ones and are right.

use cuda_sys::CUresult;

use super::bench::Argument::*;
use super::bench::{Argument, CHECKED, Launch};
use crate::sim::in_child;

const SOUND: &str = concat!(include_str!("../../ptx/sound/kernels.ptx"), "\0");

const fn case(
    kernel: &'static str,
    [blocks, threads]: [u32; 2],
    arguments: &'static [Argument],
) -> Launch {
    Launch { kernel, blocks, threads, shared: 512, arguments }
}

#[rustfmt::skip]
const CASES: &[Launch] = &[
    case("tree_reduce", [4, 128], &[Unwritten(16)]),
    case("double_buffer", [2, 64], &[Unwritten(256)]),
    case("single_tile", [2, 64], &[Unwritten(256)]),
    case("warp_synchronous", [2, 64], &[Unwritten(256)]),
    case("half_warps", [2, 32], &[Unwritten(128)]),
    case("shuffle_reduce", [4, 64], &[Zeros(4)]),
    case("histogram", [4, 64], &[Zeros(64)]),
    case("atomic_sum", [8, 64], &[Zeros(4)]),
    case("maximum", [4, 32], &[Zeros(4)]),
    case("flag_with_fence", [4, 1], &[Unwritten(16), Zeros(4)]),
    case("volatile_flag", [3, 64], &[Unwritten(1024), Zeros(4)]),
    case("acquire_release", [4, 1], &[Unwritten(16), Zeros(4)]),
    case("spin_lock", [8, 1], &[Zeros(4), Zeros(4)]),
    case("last_block", [8, 64], &[Unwritten(256), Zeros(4)]),
    case("grid_barrier", [4, 32], &[Unwritten(1024), Zeros(4)]),
    case("same_value", [8, 64], &[Unwritten(4)]),
    case("same_value", [8, 64], &[Pinned(4)]),
    case("broadcast", [4, 64], &[Unwritten(1024)]),
    case("bytes", [4, 64], &[Unwritten(256)]),
    case("bytes", [4, 61], &[Unwritten(2 << 20)]),
    case("shorts", [4, 63], &[Unwritten(2 << 20)]),
    case("shared_bytes", [2, 64], &[Unwritten(256)]),
    case("three_of_four", [2, 32], &[Unwritten(4096)]),
    case("scan", [2, 64], &[Unwritten(256)]),
    case("producer_and_consumer", [2, 64], &[Unwritten(256)]),
    case("grid_stride", [2, 64], &[Unwritten(4000), Number(1000)]),
    case("local_array", [2, 64], &[Unwritten(512)]),
    case("calls", [2, 64], &[Unwritten(512)]),
    case("constants", [2, 64], &[Unwritten(512)]),
    case("variables", [1, 64], &[Unwritten(256)]),
    case("carved", [2, 64], &[Unwritten(256)]),
    case("transpose", [2, 64], &[Unwritten(256)]),
    case("in_place", [4, 64], &[Zeros(1024)]),
    case("in_place", [4, 64], &[Zeros(4 << 20)]),
    case("read_first", [2, 64], &[Unwritten(512), Partly(512, 400), Number(100)]),
    case("read_first", [2, 64], &[Unwritten(512), Pinned(512), Number(128)]),
    case("broadcast", [4, 64], &[Pooled(1024)]),
    case("in_place", [4, 64], &[PooledZeros(1024)]),
    case("broadcast", [4, 64], &[PooledAgain(1024)]),
    case("broadcast", [4, 64], &[Mapped]),
    case("in_place", [4, 64], &[MappedZeros]),
    case("in_place", [4, 64], &[MappedTwice]),
    case("read_first", [2, 64], &[Unwritten(512), MappedReadOnly, Number(128)]),
    case("ballots", [2, 64], &[Unwritten(256)]),
    case("whole_warps_leave", [2, 64], &[Unwritten(256)]),
    case("vectors", [2, 64], &[Unwritten(2048)]),
    case("shared_atomic_flag", [1, 64], &[Unwritten(4)]),
];

#[test]
fn kernels_that_are_right_are_not_reported() {
    in_child(CHECKED, || {
        assert!(CASES.len() >= 40);
        for case in CASES {
            let outcome = case.run(SOUND);
            let texts: Vec<String> = outcome.reports.iter().map(ToString::to_string).collect();
            let real: Vec<_> = texts.iter().filter(|text| !text.starts_with("leak")).collect();
            assert!(real.is_empty(), "{}: {real:#?}", case.kernel);
            assert_eq!(outcome.error, CUresult::CUDA_SUCCESS, "{}", case.kernel);
        }
    });
}
