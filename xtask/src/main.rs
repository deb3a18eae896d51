//! `cargo xtask`: the automation of this repository.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is how a command answers")]

// Layers, the top one first; a module imports only from lines below its own.
//
//   ci
//   conformance, doctor, tidy
//   bindgen, build_kernels, build_time, instructions, libcuda, miri, operations, sanitize, walkthrough
//   programs, test_results, toolkit, unavailable
//   parallel, process
//   paths
mod bindgen;
mod build_kernels;
mod build_time;
mod ci;
mod conformance;
mod doctor;
mod instructions;
mod libcuda;
mod miri;
mod operations;
mod parallel;
mod paths;
mod process;
mod programs;
mod sanitize;
mod test_results;
mod tidy;
mod toolkit;
mod unavailable;
mod walkthrough;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::unavailable::Unavailable;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The automation of this repository.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the types and the list of functions of cuda-sys anew from cuda.h.
    Bindgen(bindgen::Arguments),
    /// Compile kernels/*.cu to kernels/ptx with nvcc.
    BuildKernels(build_kernels::Arguments),
    /// Measure how long the README's commands take from nothing, and compare with what they may.
    BuildTime(build_time::Arguments),
    /// Run all that CI runs: the checks, the tests, the documentation, the main job.
    Ci(ci::Arguments),
    /// Run the programs of others against the software driver.
    #[command(subcommand)]
    Conformance(conformance::ConformanceSuite),
    /// Say what there is on this machine, what would run where, and what to do about the rest.
    Doctor,
    /// Print the doctor's report on the driver that `GPU_DRIVER` asks for.
    #[command(hide = true)]
    Driver,
    /// Count the instructions of an enqueue with callgrind, with and without a race checker.
    Instructions,
    /// Build the software driver as libcuda.so.1 and print the folder that it is in.
    Libcuda,
    /// Run the tests that need no driver under Miri, of some packages or all.
    Miri(miri::Arguments),
    /// Write docs/operations.md from what passes of an exam's cases.
    Operations(operations::Arguments),
    /// Run tests under a sanitizer of the nightly toolchain, of some packages or all.
    Sanitize(sanitize::Arguments),
    /// Check the rules of this repository: floors, headers, licences, clauses, links and more.
    Tidy,
    /// Install nvcc, the CUDA headers and libclang below target/toolkit.
    Toolkit,
    /// Do what docs/newcomer.md tells a newcomer to do.
    Walkthrough,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            if error.is::<Unavailable>() { ExitCode::from(3) } else { ExitCode::FAILURE }
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Bindgen(arguments) => bindgen::run(&arguments),
        Command::BuildKernels(arguments) => build_kernels::run(&arguments),
        Command::BuildTime(arguments) => build_time::run(&arguments),
        Command::Ci(arguments) => ci::run(&arguments),
        Command::Conformance(suite) => conformance::run(&suite),
        Command::Doctor => doctor::run(),
        Command::Driver => doctor::report_on_driver(),
        Command::Instructions => instructions::run(),
        Command::Libcuda => libcuda::run(),
        Command::Miri(arguments) => miri::run(&arguments),
        Command::Operations(arguments) => operations::run(&arguments),
        Command::Sanitize(arguments) => sanitize::run(&arguments),
        Command::Tidy => tidy::run(),
        Command::Toolkit => toolkit::run(),
        Command::Walkthrough => walkthrough::run(),
    }
}
