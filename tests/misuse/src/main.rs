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

mod calls;
mod cases;
mod child;
mod draw;
mod faults;
mod journal;
mod parent;
mod programs;
mod ration;

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use self::faults::CaseFaultKind;
use self::ration::Ration;

/// Tries to do harm from safe code.
#[derive(Parser, Debug)]
struct Arguments {
    /// How many random calls to make.
    #[arg(long, required_unless_present = "programs", conflicts_with = "programs")]
    calls: Option<u64>,
    /// How many random programs to run.
    #[arg(long)]
    programs: Option<u64>,
    /// What all random choices follow from.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Only this case, or those from the first up to before the last (`3..9`), telling what is drawn.
    #[arg(long, value_parser = range)]
    only: Option<Range<u64>>,
    /// How many child processes run at a time.
    #[arg(long, default_value_t = parent::processors())]
    jobs: usize,
    /// The first case, in a child.
    #[arg(long, default_value_t = 0, hide = true)]
    from: u64,
    /// The journal of the parent, in a child.
    #[arg(long, hide = true)]
    journal: Option<PathBuf>,
}

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

/// What is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    Calls,
    Programs,
}

impl Trial {
    /// What can go wrong, in the order of the last line.
    fn faults(self) -> [CaseFaultKind; 4] {
        let last = match self {
            Trial::Calls => CaseFaultKind::Leak,
            Trial::Programs => CaseFaultKind::Wrong,
        };
        [CaseFaultKind::Panic, CaseFaultKind::Abort, CaseFaultKind::Hang, last]
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Trial::Calls => "calls",
            Trial::Programs => "programs",
        })
    }
}

impl Arguments {
    fn what(&self) -> Trial {
        if self.programs.is_some() { Trial::Programs } else { Trial::Calls }
    }

    /// What the environment of a child is that begins with a case: of calls, whether devices have
    /// virtual memory, and of programs, whether launches are waited for.
    fn environment(&self, case: u64) -> [(&'static str, &'static str); 1] {
        match self.what() {
            Trial::Calls => Ration::of(case).environment(),
            Trial::Programs => {
                let is_odd = !(case / parent::PORTION_OF_PROGRAMS).is_multiple_of(2);
                [("CUDA_LAUNCH_BLOCKING", if is_odd { "1" } else { "0" })]
            }
        }
    }

    /// The cases to try.
    fn cases(&self) -> Range<u64> {
        let all = self.programs.or(self.calls).unwrap_or_default();
        self.only.clone().unwrap_or(self.from..all)
    }
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let number = |text: &str| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
    match text.split_once("..") {
        Some((first, end)) => Ok(number(first)?..number(end)?),
        None => number(text).map(|case| case..case + 1),
    }
}
