//! Tests that cannot run here say so, in a form that can be counted.

use std::io::{self, Write};

/// Reports on standard error that the calling test is skipped, and why.
///
/// `cargo xtask ci` counts these lines: a test that needs a real GPU is never silently absent.
pub fn skipped(test: &str, reason: &str) {
    // Not `eprintln!`: the test harness keeps that to itself when the test succeeds. Where nobody
    // reads standard error there is nobody to tell.
    let _ = writeln!(io::stderr(), "skipped: {test}: {reason}");
}
