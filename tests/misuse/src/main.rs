//! Tries to do harm from safe code: calls of everything public with random arguments, and random
//! programs of several threads. Whatever comes of them but a result or an error is a fault.
//!
//! ```text
//! cargo run --release -p misuse -- --calls 1000000 --seed 7
//! cargo run --release -p misuse -- --programs 10000 --seed 7
//! cargo run --release -p misuse -- --calls 1000000 --seed 7 --only 4711
//! ```
//!
//! The last line counts what happened:
//! `calls N panics 0 aborts 0 hangs 0 leaks 0`, and `programs N panics 0 aborts 0 hangs 0 wrong 0`.
//! A *panic* counts in any thread. An *abort* is a process that ended, a *hang* one that was at one
//! case for too long, a *leak* device memory or page-locked memory that is still allocated after a case.
//! Each fault is printed with the command that brings it back: first alone, and if it needs what the
//! process did before, from the beginning of that process on.
//!
//! # Where calls are made
//! In child processes of 2 GiB each, set before anything else runs, on two devices of the software
//! driver with 64 MiB of memory. A child journals which case it is at, and the parent goes on behind it
//! with another child when one dies. What the 2 GiB are of stands in `src/ration.rs`.
//!
//! # What is called
//! `build.rs` makes an entry of every public function of tensor, nn, parallel, gpu-alloc and
//! gpu-runtime whose argument types `tests/surface` knows, so an operation is tried from the moment
//! that it is declared. Functions of other types are called in `src/calls/by_hand/`; what cannot do
//! harm with any value, or is harmful by agreement, stands in `exempt.txt` with the reason.
//! `cargo xtask tidy` finds public functions that are in none of the three.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "printing is how the program answers")]

// Layers, the top one first; a module imports only from lines below its own.
//
//   parent
//   child
//   calls, programs
//   arguments, cases
//   draw, faults, journal, ration
mod arguments;
mod calls;
mod cases;
mod child;
mod draw;
mod faults;
mod journal;
mod parent;
mod programs;
mod ration;

use std::process::ExitCode;

use clap::Parser;

use self::arguments::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.journal {
        Some(journal) => child::run(&arguments, journal),
        None => parent::run(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        println!("error: {error:#}");
        ExitCode::FAILURE
    })
}
