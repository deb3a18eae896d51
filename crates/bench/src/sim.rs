//! Kernels on the software driver, against plain Rust on one thread, and against themselves.
//!
//! The number of the driver's workers is fixed when it starts, and the cases need one or two
//! whatever `--threads` says. So the driver runs in processes of its own, which this one starts
//! from its own executable and tells what to measure. They and plain Rust take turns.

mod apart;
mod halves;
mod launches;
mod plain;
mod serve;

use gpu_runtime::{DriverKind, driver_kind};
use tensor::Device;

use apart::Simulator;
use plain::PlainLoop;
pub(crate) use serve::serve;

use crate::error::Result;
use crate::harness::Bench;
use crate::metric::Metric;
use crate::place::BenchTarget;

/// The cases that are compared with plain Rust.
const AGAINST_RUST: [(&str, PlainLoop); 7] = [
    ("add_16M", PlainLoop::Add),
    ("saxpy_grid_stride", PlainLoop::Saxpy),
    // What is left of it where memory is not read from one end to the other.
    ("saxpy_same_order", PlainLoop::SaxpyByWarps),
    ("block_reduce", PlainLoop::Sum),
    ("warp_reduce", PlainLoop::Sum),
    ("matmul_512", PlainLoop::Matmul),
    // Against the product in f32, as the one before.
    ("matmul_halves_512", PlainLoop::Matmul),
];

/// The cases of single launches and compilations, which take long.
const TIMES: [&str; 4] = ["launch_enqueue", "launch_executed", "compile", "compile_unrolled"];

const TWO_WORKERS: &str = "sim/two_workers";

pub(crate) fn run(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    if place.device() != Device::Cpu && driver_kind()? != DriverKind::Software {
        for (case, _) in AGAINST_RUST {
            bench.missing(&format!("sim/{case}"), Metric::Ratio)?;
        }
        bench.missing(TWO_WORKERS, Metric::Ratio)?;
        return TIMES
            .iter()
            .try_for_each(|case| bench.missing(&format!("sim/{case}"), Metric::Nanoseconds));
    }
    let mut one = Simulator::start(1)?;
    for (case, plain) in AGAINST_RUST {
        let name = format!("sim/{case}");
        if bench.wants(&name) {
            let mut plain = plain.prepare();
            bench.best_against(&name, |calls| Ok(plain(calls)), |calls| one.sample(case, calls))?;
        }
    }
    if bench.wants(TWO_WORKERS) {
        let mut two = Simulator::start(2)?;
        let case = "logistic";
        bench.best_against(
            TWO_WORKERS,
            |calls| one.sample(case, calls),
            |calls| two.sample(case, calls),
        )?;
    }
    TIMES.iter().try_for_each(|case| {
        let name = format!("sim/{case}");
        bench.timed(&name, Metric::Nanoseconds, |calls| one.sample(case, calls))
    })
}
