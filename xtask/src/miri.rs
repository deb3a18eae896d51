//! Runs tests under Miri, which interprets them and finds what no test would notice: undefined
//! behaviour, races of threads for memory, leaks.
//!
//! Miri has no driver and no other processes, and keeps tests from the files and the clock of the
//! machine that they run on. So what it runs is listed: what decides and counts without any of these.

mod suites;

use std::env;
use std::process::Command;

use anyhow::{Result, ensure};

use self::suites::{MiriSuite, SUITES};
use crate::paths;
use crate::process::{output, transcript};
use crate::test_results::Counts;
use crate::unavailable::Unavailable;

/// Settings for proptest: few random cases where a test does not say how many, and no file of what
/// failed.
const FLAGS: &str =
    "-Zmiri-env-set=PROPTEST_CASES=2 -Zmiri-env-set=PROPTEST_DISABLE_FAILURE_PERSISTENCE=1";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The packages whose tests run; all that have some for Miri, if none is named.
    #[arg(value_parser = suites::packages())]
    packages: Vec<String>,
    /// Judge references by Tree Borrows instead of Stacked Borrows.
    #[arg(long)]
    tree_borrows: bool,
    /// The number of runs of tests whose threads may take turns in another way, or whose cases are
    /// drawn.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    output(nightly().args(["miri", "--version"])).map_err(|error| {
        let advice = "Miri comes with a nightly toolchain: \
                      `rustup toolchain install nightly --component miri`";
        Unavailable(format!("{advice}: {error:#}"))
    })?;
    for suite in SUITES.iter().filter(|suite| arguments.concern(suite)) {
        run_suite(suite, arguments)?;
    }
    Ok(())
}

fn run_suite(suite: &MiriSuite, arguments: &Arguments) -> Result<()> {
    let mut miri = nightly();
    miri.args(["miri", "test", "--package", suite.package]).args(suite.target);
    miri.arg("--").args(suite.tests).args(suite.slow.iter().flat_map(|name| ["--skip", name]));
    let transcript = transcript(miri.env("MIRIFLAGS", arguments.flags(suite)))?;
    transcript.result?;
    let ran = |name: &&&str| {
        let begins = format!("test {name}");
        transcript.lines.iter().any(|line| line.contains(&begins))
    };
    let missing: Vec<_> = suite.tests.iter().filter(|name| !ran(name)).collect();
    ensure!(missing.is_empty(), "no test's name begins with any of {missing:?}");
    println!("{} {}: {}", suite.package, suite.target.join(" "), Counts::of(&transcript.lines));
    Ok(())
}

impl Arguments {
    fn concern(&self, suite: &MiriSuite) -> bool {
        self.packages.is_empty() || self.packages.iter().any(|name| name == suite.package)
    }

    fn flags(&self, suite: &MiriSuite) -> String {
        let mut flags = env::var("MIRIFLAGS").unwrap_or_default() + " " + FLAGS;
        if self.tree_borrows {
            flags += " -Zmiri-tree-borrows";
        }
        if suite.varies {
            flags += &format!(" -Zmiri-many-seeds=0..{}", self.seeds);
        }
        flags
    }
}

/// cargo of the nightly toolchain, in the repository's root.
fn nightly() -> Command {
    let mut cargo = Command::new("rustup");
    cargo.current_dir(paths::root()).args(["run", "nightly", "cargo"]);
    cargo
}
