//! numba-cuda's own tests, each module in a process of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::super::lists::{Expectation, Lists};
use super::packages::{CompilerRelease, PythonEnvironment};
use crate::{parallel, paths, process};

/// The folders of the tests, in the package's own.
const TESTS: &str = "numba_cuda/numba/cuda/tests";
const FOLDERS: [&str; 2] = ["cudapy", "cudadrv"];

/// No module takes longer, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(600);

/// The number of tests that may be listed.
const MAX_LISTED: usize = 40;

/// The modules of the gate: a launch of each kind, linking, and the driver's own functions.
pub(super) const SHORT: [&str; 6] = [
    "cudadrv.test_events",
    "cudadrv.test_host_alloc",
    "cudadrv.test_inline_ptx",
    "cudadrv.test_linker",
    "cudadrv.test_streams",
    "cudapy.test_sm_creation",
];

/// The results of the suite.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SuiteScore {
    passed: u32,
    /// The number of tests that failed and are not listed, or that are and passed.
    pub(super) failed: u32,
    /// The number of tests that failed and are listed, each with a reason.
    listed: u32,
    skipped: u32,
}

impl fmt::Display for SuiteScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SuiteScore { passed, failed, listed, skipped } = self;
        write!(f, "passed {passed} failed {failed} listed {listed} skipped {skipped}")
    }
}

/// A setting in which numba-cuda's tests are run.
pub(super) struct NumbaTests<'a> {
    pub(super) release: CompilerRelease,
    pub(super) environment: &'a PythonEnvironment,
    pub(super) libraries: &'a Path,
}

/// The end of a test.
#[derive(Debug, PartialEq, Eq)]
enum TestEnd {
    Passed,
    Skipped,
    Failed(String),
}

impl NumbaTests<'_> {
    /// Runs modules, such as `cudapy.test_array`: those of the name that is asked for, or all.
    pub(super) fn run(&self, only: &[impl AsRef<str>]) -> Result<SuiteScore> {
        let lists = Lists::read("numba", &[Expectation::Cannot], MAX_LISTED)?;
        let mut modules = self.modules()?;
        if !only.is_empty() {
            let wanted = |module: &String| only.iter().any(|only| module.contains(only.as_ref()));
            modules.retain(wanted);
        }
        let mut ends = BTreeMap::new();
        for results in parallel::map(&modules, |module| self.results(module)) {
            ends.extend(results?);
        }
        let release = self.release.name();
        if only.is_empty() {
            lists.check(release, &ends.keys().cloned().collect::<Vec<_>>())?;
        }
        let mut score = SuiteScore::default();
        for (test, end) in &ends {
            score.count(test, lists.verdict(release, test), end);
        }
        Ok(score)
    }

    /// The names of all modules.
    fn modules(&self) -> Result<Vec<String>> {
        let mut modules = Vec::new();
        for folder in FOLDERS {
            for file in paths::files(&self.environment.packages.join(TESTS).join(folder), "py")? {
                let name = file.file_stem().and_then(|name| name.to_str());
                if let Some(name) = name.filter(|name| name.starts_with("test_")) {
                    modules.push(format!("{folder}.{name}"));
                }
            }
        }
        Ok(modules)
    }

    /// Runs the tests of a module. If one ends the process, another runs those that are left.
    fn results(&self, module: &str) -> Result<BTreeMap<String, TestEnd>> {
        let folder = paths::conformance().join("numba-results");
        fs::create_dir_all(&folder)?;
        let file = folder.join(format!("{module}.json"));
        let mut results = BTreeMap::new();
        loop {
            // Of a process that does not even begin, the file would be the one before.
            fs::write(&file, "")?;
            let mut python = self.environment.command(self.libraries)?;
            python.arg(paths::root().join("xtask/src/conformance/numba/tests.py"));
            python.arg(format!("numba.cuda.tests.{module}")).arg(&file).args(results.keys());
            python.env("CUDA_SIM_DEVICES", "2");
            // nvJitLink is left out on purpose, and some tests allow no warning.
            let missing = "ignore:cuda.bindings.nvjitlink is not available:RuntimeWarning";
            python.env("PYTHONWARNINGS", missing);
            let end = process::ended_within(&mut python, PATIENCE)?;
            let text = fs::read_to_string(&file)?;
            let before = results.len();
            let is_whole = read(&text, &end.text, &mut results)?;
            if is_whole {
                return Ok(results);
            }
            if results.len() == before {
                bail!("{module} did not begin:\n{}", end.text.trim_end());
            }
        }
    }
}

/// Adds what lines tell, and says whether they are whole. A test that was begun only ended the
/// process, which wrote `output`.
fn read(lines: &str, output: &str, results: &mut BTreeMap<String, TestEnd>) -> Result<bool> {
    let mut running = None;
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).with_context(|| format!("no JSON: {line}"))?;
        let word = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let test = word("test");
        let end = match &*word("result") {
            "ended" => return Ok(true),
            "begun" => {
                running = Some(test);
                continue;
            }
            "passed" => TestEnd::Passed,
            "skipped" => TestEnd::Skipped,
            "failed" => TestEnd::Failed(word("text")),
            other => bail!("`{test}` is said to have {other}"),
        };
        // Parts of a test may be skipped, and others fail.
        match (results.get(&test), &end) {
            (Some(TestEnd::Failed(_)), _) | (Some(TestEnd::Passed), TestEnd::Skipped) => {}
            _ => drop(results.insert(test, end)),
        }
    }
    if let Some(test) = running {
        let text = format!("the process ended:\n{}", output.trim_end());
        results.entry(test).or_insert(TestEnd::Failed(text));
    }
    Ok(false)
}

impl SuiteScore {
    /// Counts a test, and prints what is not as it should be.
    fn count(&mut self, test: &str, expected: Expectation, end: &TestEnd) {
        let is_listed = expected != Expectation::Passes;
        *match end {
            TestEnd::Skipped => &mut self.skipped,
            TestEnd::Passed if is_listed => {
                println!("{test} passes, though the list says that it cannot");
                &mut self.failed
            }
            TestEnd::Passed => &mut self.passed,
            TestEnd::Failed(_) if is_listed => &mut self.listed,
            TestEnd::Failed(text) => {
                println!("{test} fails\n{}", text.trim_end());
                &mut self.failed
            }
        } += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of tests that were told of by lines `TEST RESULT TEXT`, and whether they are whole.
    fn told(lines: &[&str]) -> (BTreeMap<String, TestEnd>, bool) {
        let lines = lines.iter().map(|line| {
            let mut words = line.splitn(3, ' ');
            let mut word = || words.next().unwrap_or_default();
            serde_json::json!({"test": word(), "result": word(), "text": word()}).to_string()
        });
        let lines = lines.collect::<Vec<_>>().join("\n");
        let mut results = BTreeMap::new();
        let is_whole = read(&lines, "killed\n", &mut results).expect("it is JSON");
        (results, is_whole)
    }

    fn failed(text: &str) -> TestEnd {
        TestEnd::Failed(text.into())
    }

    #[test]
    fn a_module_is_whole_when_it_says_so() {
        let (results, is_whole) = told(&["a begun", "a passed", "b begun", "b skipped", "m ended"]);
        assert!(is_whole);
        assert_eq!(results["a"], TestEnd::Passed);
        assert_eq!(results["b"], TestEnd::Skipped);
    }

    #[test]
    fn a_test_that_ends_the_process_fails_with_what_that_wrote() {
        let (results, is_whole) = told(&["a begun", "a passed", "b begun"]);
        assert!(!is_whole);
        assert_eq!(results["a"], TestEnd::Passed);
        assert_eq!(results["b"], failed("the process ended:\nkilled"));
        assert_eq!(told(&["a begun", "a passed"]).0.len(), 1);
    }

    #[test]
    fn a_test_of_which_one_part_fails_fails() {
        let lines = ["a begun", "a failed one", "a skipped", "b begun", "b skipped", "b passed"];
        let (results, _) = told(&lines);
        assert_eq!(results["a"], failed("one"));
        assert_eq!(results["b"], TestEnd::Passed);
    }

    #[test]
    fn each_end_is_counted_where_it_belongs() {
        let counted = |expected, end: TestEnd| {
            let mut score = SuiteScore::default();
            score.count("a test of this test", expected, &end);
            score.to_string()
        };
        let (passes, cannot) = (Expectation::Passes, Expectation::Cannot);
        let expected = |passed, failed, listed, skipped| {
            format!("passed {passed} failed {failed} listed {listed} skipped {skipped}")
        };
        assert_eq!(counted(passes, TestEnd::Passed), expected(1, 0, 0, 0));
        assert_eq!(counted(passes, failed("text")), expected(0, 1, 0, 0));
        assert_eq!(counted(cannot, TestEnd::Passed), expected(0, 1, 0, 0));
        assert_eq!(counted(cannot, failed("text")), expected(0, 0, 1, 0));
        assert_eq!(counted(cannot, TestEnd::Skipped), expected(0, 0, 0, 1));
    }
}
