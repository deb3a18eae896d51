//! `cargo xtask build-time`: how long somebody waits who has just cloned this repository.

mod machine;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::{paths, process};

/// The limit for building and running the README's first command.
const MAX_FIRST_RUN: Duration = Duration::from_mins(5);
/// The limit for building all tests.
const MAX_TEST_BUILD: Duration = Duration::from_mins(9);
/// The limit for running all tests once they are built.
const MAX_TESTS: Duration = Duration::from_mins(5);

const README: &str = "README.md";
/// The beginnings of the README's commands.
const FIRST_RUN: &str = "cargo run ";
const TESTS: &str = "cargo test ";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The times to measure; all of them if none is named.
    #[arg(value_name = "WHAT", value_parser = ["first-run", "test-build", "tests"])]
    asked: Vec<String>,
}

impl Arguments {
    fn asks_for(&self, name: &str) -> bool {
        self.asked.is_empty() || self.asked.iter().any(|asked| asked == name)
    }
}

/// Measures one after the other, each from nothing, in a target folder that is deleted afterwards.
///
/// # Errors
/// If a command fails, or if any takes longer than it may.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let readme = fs::read_to_string(paths::root().join(README)).context("cannot read README.md")?;
    let command = |begin| command_of(&readme, begin);
    println!("{}", machine::name());
    let mut times = Vec::new();
    if arguments.asks_for("first-run") {
        let folder = empty_target()?;
        let time = time(&mut cargo(&command(FIRST_RUN)?, folder.path()))?;
        times.push(Measured { name: "first-run", time, limit: MAX_FIRST_RUN });
    }
    if arguments.asks_for("test-build") || arguments.asks_for("tests") {
        let folder = empty_target()?;
        let tests = command(TESTS)?;
        let build = time(cargo(&tests, folder.path()).arg("--no-run"))?;
        if arguments.asks_for("test-build") {
            times.push(Measured { name: "test-build", time: build, limit: MAX_TEST_BUILD });
        }
        if arguments.asks_for("tests") {
            let time = time(&mut cargo(&tests, folder.path()))?;
            times.push(Measured { name: "tests", time, limit: MAX_TESTS });
        }
    }
    for measured in &times {
        println!("{}", measured.line());
    }
    let is_late = |measured: &&Measured| measured.time > measured.limit;
    let late: Vec<_> = times.iter().filter(is_late).map(|measured| measured.name).collect();
    ensure!(late.is_empty(), "takes longer than it may: {}", late.join(", "));
    Ok(())
}

/// A measured time, and its limit.
struct Measured {
    name: &'static str,
    time: Duration,
    limit: Duration,
}

impl Measured {
    fn line(&self) -> String {
        let is_kept = if self.time > self.limit { "missed" } else { "kept" };
        let (name, time, limit) = (self.name, in_minutes(self.time), in_minutes(self.limit));
        format!("{name:<12}{time:>8} of {limit:>5} min  {is_kept}")
    }
}

/// `2:05` for two minutes and five seconds.
fn in_minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// The words of the README's command that begins so, after `cargo` and without its comment.
fn command_of<'a>(readme: &'a str, begin: &str) -> Result<Vec<&'a str>> {
    let line = readme.lines().find(|line| line.starts_with(begin));
    let line = line.with_context(|| format!("{README} has no line that begins with `{begin}`"))?;
    let command = line.split('#').next().unwrap_or(line);
    Ok(command.split_whitespace().skip(1).collect())
}

fn empty_target() -> Result<tempfile::TempDir> {
    let parent = paths::target();
    fs::create_dir_all(&parent)?;
    let folder = tempfile::Builder::new().prefix("build-time-").tempdir_in(parent);
    folder.context("cannot make a folder to build in")
}

fn cargo(words: &[&str], target: &Path) -> Command {
    let mut cargo = process::cargo(words);
    cargo.env("CARGO_TARGET_DIR", target);
    cargo
}

fn time(command: &mut Command) -> Result<Duration> {
    let start = Instant::now();
    process::run(command)?;
    Ok(start.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_those_of_the_readme() {
        let readme = fs::read_to_string(paths::root().join(README)).expect("there is a README");
        let first = command_of(&readme, FIRST_RUN).expect("it has a first command");
        assert_eq!(first, ["run", "--example", "digits"]);
        let tests = command_of(&readme, TESTS).expect("it says how to test");
        assert_eq!(tests, ["test", "--workspace"]);
        assert!(command_of("nothing", FIRST_RUN).is_err());
    }

    #[test]
    fn a_line_says_whether_the_limit_is_kept() {
        let measured = |seconds| Measured {
            name: "tests",
            time: Duration::from_secs(seconds),
            limit: MAX_TESTS,
        };
        assert_eq!(measured(125).line(), "tests           2:05 of  5:00 min  kept");
        assert_eq!(measured(301).line(), "tests           5:01 of  5:00 min  missed");
    }

    #[test]
    fn a_target_folder_is_new_and_goes_afterwards() {
        let folder = empty_target().expect("it can be made");
        let path = folder.path().to_owned();
        let mut command = cargo(&["--version"], &path);
        assert!(time(&mut command).is_ok());
        assert_eq!(fs::read_dir(&path).expect("it is there").count(), 0);
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn everything_is_measured_unless_something_is_named() {
        let all = Arguments { asked: Vec::new() };
        let one = Arguments { asked: vec!["tests".to_owned()] };
        assert!(all.asks_for("first-run") && one.asks_for("tests"));
        assert!(!one.asks_for("first-run"));
    }
}
