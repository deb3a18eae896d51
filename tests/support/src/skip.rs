//! Tests that cannot run here say so, in a form that can be counted.

/// Reports on standard error that the calling test is skipped, and why.
///
/// `cargo xtask ci` counts these lines: a test that needs a real GPU is never silently absent.
#[allow(clippy::print_stderr, reason = "the test harness's output is where skips are reported")]
pub fn skipped(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
}
