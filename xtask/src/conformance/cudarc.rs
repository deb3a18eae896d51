//! The tests of published versions of cudarc, each in a process of its own.

use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::lists::{Expectation, Lists};
use super::nvrtc::Compilers;
use super::package::{self, TestBinary};
use crate::libcuda::{self, BuildProfile};
use crate::{paths, process};

const VERSIONS: [&str; 2] = ["0.19.0", "0.19.10"];
const FEATURES: &str = "std,driver,nvrtc,f16,cuda-13000,dynamic-loading";
/// The number of tests of a version that may be listed as impossible.
const MAX_CANNOT: usize = 3;
/// The time that a test may take, far longer than each does.
const PATIENCE: Duration = Duration::from_secs(120);

/// Tests that use a second device. Another of these names sees one only: it was written for that.
const TWO_DEVICES: [(&str, &str); 4] = [
    ("0.19.0", "driver::result::tests::re_associate_context_for_memory_op"),
    ("0.19.10", "driver::result::tests::re_associate_context_for_memory_op"),
    ("0.19.10", "driver::result::tests::peer_transfer_contexts"),
    ("0.19.10", "driver::safe::launch::tests::test_peer_memcpy_waits_for_src_stream"),
];

/// The test that compiles for a GPU which NVRTC 13 does not know any more.
const HALF: &str = "driver::safe::launch::tests::test_launch_with_half";

/// The results of the tests of one version.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Score {
    version: String,
    passed: u32,
    failed: u32,
    /// The number of tests that failed and that nothing in software can pass.
    cannot: u32,
    /// The number of tests that passed of those that depend on speed. A single result says nothing,
    /// but a test that fails in every run does not fail for want of speed.
    timing_passed: u32,
    timing_failed: u32,
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Score { version, passed, failed, cannot, timing_passed, timing_failed } = self;
        write!(f, "cudarc {version}: passed {passed} failed {failed} cannot {cannot} ")?;
        write!(f, "timing_passed {timing_passed} timing_failed {timing_failed}")
    }
}

impl Score {
    fn count(&mut self, expected: Expectation, succeeded: bool) {
        *match (expected, succeeded) {
            (Expectation::Timing, true) => &mut self.timing_passed,
            (Expectation::Timing, false) => &mut self.timing_failed,
            (Expectation::Cannot, false) => &mut self.cannot,
            (Expectation::Passes, true) => &mut self.passed,
            (Expectation::Passes, false) | (Expectation::Cannot, true) => &mut self.failed,
        } += 1;
    }
}

/// The number of times that a test is run at most.
fn attempts(expected: Expectation) -> u32 {
    if expected == Expectation::Passes { 1 } else { 3 }
}

/// Whether a result may be chance, so that the test is run again: speed that was missing once, or
/// what cannot be and was measured all the same.
fn is_repeated(expected: Expectation, succeeded: bool) -> bool {
    match expected {
        Expectation::Passes => false,
        Expectation::Timing => !succeeded,
        Expectation::Cannot => succeeded,
    }
}

/// Runs the tests of all versions.
///
/// # Errors
/// If they cannot be run, or if one of the lists is wrong. Whether tests failed is in the scores.
pub(crate) fn run() -> Result<Vec<Score>> {
    let lists = Lists::read("cudarc", &[Expectation::Cannot, Expectation::Timing], MAX_CANNOT)?;
    let compilers = Compilers::install()?;
    let driver = libcuda::build(BuildProfile::Dev)?;
    let suites =
        VERSIONS.map(|version| CudarcTests { version, driver: &driver, compilers: &compilers });
    suites.iter().map(|suite| suite.run(&lists)).collect()
}

/// Fails if a test did.
pub(crate) fn verdict(scores: &[Score]) -> Result<()> {
    let failed: u32 = scores.iter().map(|score| score.failed).sum();
    ensure!(failed == 0, "{failed} tests of cudarc fail");
    Ok(())
}

struct CudarcTests<'a> {
    version: &'static str,
    driver: &'a PathBuf,
    compilers: &'a Compilers,
}

impl CudarcTests<'_> {
    fn run(&self, lists: &Lists) -> Result<Score> {
        let binary = package::test_binary("cudarc", self.version, FEATURES)?;
        let tests = binary.tests()?;
        lists.check(self.version, &tests)?;
        let mut score = Score { version: self.version.into(), ..Score::default() };
        for test in &tests {
            self.judge(&binary, test, lists.verdict(self.version, test), &mut score)?;
        }
        Ok(score)
    }

    fn judge(
        &self,
        binary: &TestBinary,
        test: &str,
        expected: Expectation,
        score: &mut Score,
    ) -> Result<()> {
        let mut outcome = self.attempt(binary, test)?;
        for _ in 1..attempts(expected) {
            if !is_repeated(expected, outcome.succeeded) {
                break;
            }
            outcome = self.attempt(binary, test)?;
        }
        score.count(expected, outcome.succeeded);
        let said = match (expected, outcome.succeeded) {
            (Expectation::Passes, true) => return Ok(()),
            (Expectation::Passes, false) => "fails",
            (Expectation::Cannot, true) => "passes, though the list says that it cannot",
            (Expectation::Cannot, false) => "cannot pass",
            (Expectation::Timing, true) => "is in time",
            (Expectation::Timing, false) => "is not in time",
        };
        println!("cudarc {}: {test} {said}", self.version);
        if matches!((expected, outcome.succeeded), (Expectation::Passes, false)) {
            println!("{}", outcome.text.trim_end());
        }
        Ok(())
    }

    /// Runs one test.
    fn attempt(&self, binary: &TestBinary, test: &str) -> Result<process::CommandEnd> {
        let compiler = if test == HALF { &self.compilers.old } else { &self.compilers.new };
        let libraries = std::env::join_paths([self.driver, compiler])
            .context("a folder's name cannot be in LD_LIBRARY_PATH")?;
        let devices = if TWO_DEVICES.contains(&(self.version, test)) { "2" } else { "1" };
        let mut command = Command::new(&binary.path);
        command.args(["--exact", test, "--include-ignored"]);
        // NVRTC looks for included files in the current folder first.
        command.current_dir(paths::toolkit_cuda().join("include"));
        command.env("LD_LIBRARY_PATH", libraries).env("CUDA_SIM_DEVICES", devices);
        command.env_remove("CUDA_VISIBLE_DEVICES").env("RUST_BACKTRACE", "0");
        process::ended_within(&mut command, PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_reads_as_counts() {
        let score =
            Score { version: "1.2".into(), passed: 3, timing_failed: 1, ..Score::default() };
        let expected = "cudarc 1.2: passed 3 failed 0 cannot 0 timing_passed 0 timing_failed 1";
        assert_eq!(score.to_string(), expected);
        assert!(verdict(&[score]).is_ok());
        assert!(verdict(&[Score { failed: 1, ..Score::default() }]).is_err());
    }

    #[test]
    fn each_result_is_counted_where_it_belongs() {
        let counted = |expected, succeeded| {
            let mut score = Score::default();
            score.count(expected, succeeded);
            score
        };
        let none = Score::default;
        assert_eq!(counted(Expectation::Passes, true), Score { passed: 1, ..none() });
        assert_eq!(counted(Expectation::Passes, false), Score { failed: 1, ..none() });
        assert_eq!(counted(Expectation::Cannot, true), Score { failed: 1, ..none() });
        assert_eq!(counted(Expectation::Cannot, false), Score { cannot: 1, ..none() });
        assert_eq!(counted(Expectation::Timing, true), Score { timing_passed: 1, ..none() });
        assert_eq!(counted(Expectation::Timing, false), Score { timing_failed: 1, ..none() });
    }
}
