//! Tests that cannot run here say so, in a form that can be counted.

use std::io::{self, Write};

/// Reports on standard error that the calling test is skipped, and why.
///
/// `cargo xtask ci` counts these lines: a test that needs a real GPU is never silently absent.
pub fn skipped(test: &str, reason: &str) {
    report(&format!("{MARK}{test}: {reason}"));
}

/// Reports what a child process reported as skipped, given what it wrote to standard error.
pub(crate) fn hand_on(errors: &str) {
    errors.lines().filter(|line| line.starts_with(MARK)).for_each(report);
}

/// The beginning of a line that says that a test is skipped.
const MARK: &str = "skipped: ";

fn report(line: &str) {
    // Not `eprintln!`: the test harness keeps that to itself when the test succeeds. Where nobody
    // reads standard error there is nobody to tell.
    let _ = writeln!(io::stderr(), "{line}");
}
