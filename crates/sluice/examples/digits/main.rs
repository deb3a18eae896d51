//! Trains a classifier of handwritten digits: on NVIDIA's GPUs, on software GPUs, or on the CPU.
//!
//! ```sh
//! cargo run --example digits
//! cargo run --example digits -- --device software:2 --epochs 10 --json
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program talks to its user")]

mod args;
mod data;
mod devices;
mod error;
mod model;
mod report;
mod train;

use std::process::ExitCode;

use clap::Parser;

use args::Args;
use error::Error;
use report::ProgressReport;

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(if error.is_bad_input() { 2 } else { 1 })
        }
    }
}

fn run(args: &Args) -> Result<(), Error> {
    let data = data::Digits::read(&args.data)?;
    let chosen = devices::choose(args)?;
    let mut report = ProgressReport::begin(args, &chosen);
    let (train, test) = data.split()?;
    let result = train::train(train, test, &args.options(&chosen), |step| report.step(step))?;
    report.end(&chosen, &result)
}
