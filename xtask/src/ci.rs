//! `cargo xtask ci`: all that must hold before a change is taken, in one command.

mod steps;
mod summary;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use self::steps::Step;

/// What came of a step.
struct Outcome {
    name: &'static str,
    time: Duration,
    report: Report,
    result: Result<()>,
}

/// What a step says besides whether it succeeded, also when it did not.
#[derive(Default)]
struct Report {
    /// For the summary's table.
    note: String,
    /// Lines of its output to be seen again at the end.
    closing_lines: Vec<String>,
}

/// Runs every step, whatever becomes of those before it: one run is to show all that is wrong.
///
/// # Errors
/// If any step fails.
pub(crate) fn run() -> Result<()> {
    let outcomes: Vec<_> = steps::ALL.iter().map(outcome).collect();
    summary::print(&outcomes);
    let failed: Vec<_> = outcomes.iter().filter(|o| o.result.is_err()).map(|o| o.name).collect();
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

fn outcome(&(name, step): &(&'static str, Step)) -> Outcome {
    println!("\n== {name}");
    let start = Instant::now();
    let mut report = Report::default();
    let result = step(&mut report);
    if let Err(error) = &result {
        eprintln!("error: {error:#}");
    }
    Outcome { name, time: start.elapsed(), report, result }
}
