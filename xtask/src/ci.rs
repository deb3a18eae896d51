//! `cargo xtask ci`: all that must hold before a change is taken, in one command.

mod steps;
mod summary;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use self::steps::CiStep;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The steps to run, as the summary calls them; all of them if none is named.
    #[arg(value_name = "STEP", value_parser = steps::names())]
    steps: Vec<String>,
}

/// The outcome of a step.
struct StepOutcome {
    name: &'static str,
    time: Duration,
    report: StepReport,
    result: Result<()>,
}

/// The notes of a step, shown whether it succeeded or not.
#[derive(Default)]
struct StepReport {
    /// The note in the summary's table.
    note: String,
    /// Lines of its output to be seen again at the end.
    closing_lines: Vec<String>,
}

/// Runs each step, whatever becomes of those before it: one run is to show all that is wrong.
///
/// # Errors
/// If any step fails.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let asked = &arguments.steps;
    let is_asked = |name: &str| asked.is_empty() || asked.iter().any(|step| step == name);
    let steps = steps::ALL.iter().filter(|(name, _)| is_asked(name));
    let outcomes: Vec<_> = steps.map(outcome).collect();
    summary::print(&outcomes);
    let failed: Vec<_> = outcomes.iter().filter(|o| o.result.is_err()).map(|o| o.name).collect();
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

fn outcome(&(name, step): &(&'static str, CiStep)) -> StepOutcome {
    println!("\n== {name}");
    let start = Instant::now();
    let mut report = StepReport::default();
    let result = step(&mut report);
    if let Err(error) = &result {
        eprintln!("error: {error:#}");
    }
    StepOutcome { name, time: start.elapsed(), report, result }
}
