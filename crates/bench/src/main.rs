//! The benchmark program: named cases, one JSON line for each.
//!
//! ```sh
//! cargo run --release -p bench -- --filter ew/,matmul/f32 --threads 2
//! ```
//!
//! `docs/results/README.md` says what each case measures, and how.
#![allow(clippy::print_stderr, reason = "a program tells its user what failed")]

// Layers, the top one first; a module imports only from lines below its own.
//
//   alloc, broadcast, conv, data, dispatch, elementwise, fused, launch, matmul, reduce, runtime, sim, train
//   harness, launcher
//   args
//   scaling
//   line, place
//   metric, samples
//   error
mod alloc;
mod args;
mod broadcast;
mod conv;
mod data;
mod dispatch;
mod elementwise;
mod error;
mod fused;
mod harness;
mod launch;
mod launcher;
mod line;
mod matmul;
mod metric;
mod place;
mod reduce;
mod runtime;
mod samples;
mod scaling;
mod sim;
mod train;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, BenchCommand};
use error::Result;
use harness::Bench;
use place::BenchTarget;

/// Measures and reports the wanted cases of a group.
type Group = fn(&mut Bench, &BenchTarget) -> Result<()>;

/// The cases by the prefix that their names share, in the order in which they run.
const GROUPS: [(&str, Group); 13] = [
    ("dispatch/", dispatch::run),
    ("ew/", elementwise::run),
    ("fused/", fused::run),
    ("bcast/", broadcast::run),
    ("reduce/", reduce::run),
    ("matmul/", matmul::run),
    ("conv/", conv::run),
    ("train/", train::run),
    ("data/", data::run),
    ("alloc/", alloc::run),
    ("launch/", launch::run),
    ("runtime/", runtime::run),
    ("sim/", sim::run),
];

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(if error.is_bad_input() { 2 } else { 1 })
        }
    }
}

fn run(args: Arguments) -> Result<()> {
    if let Some(BenchCommand::Scaling(args)) = args.command {
        return scaling::run(&args);
    }
    if let Some(workers) = args.serve {
        return sim::serve(workers.into());
    }
    let place = BenchTarget::prepare(args.device, args.threads.into())?;
    let mut bench = Bench::new(args);
    for (group, run) in GROUPS {
        if bench.wants_group(group) {
            run(&mut bench, &place)?;
        }
    }
    bench.finish()
}
