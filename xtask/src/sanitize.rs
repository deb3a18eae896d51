//! Runs tests under LLVM's sanitizers, which watch what compiled code does to memory: faults that no
//! test would notice, in the driver's and the runtime's `unsafe` code above all.
//!
//! Everything but the standard library is built anew for it, in a target folder of its own. Unlike
//! Miri they watch at nearly full speed, with threads, processes and generated code.

mod suites;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use self::suites::SUITES;
use crate::paths;
use crate::process::{output, transcript};
use crate::test_results::Counts;
use crate::unavailable::Unavailable;

/// Build scripts and procedural macros are built for the machine that builds, without flags, only if
/// the target is named.
const TARGET: &str = "x86_64-unknown-linux-gnu";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    sanitizer: Sanitizer,
    /// The packages whose tests run; all that there are suites of, if none is named.
    #[arg(value_parser = suites::packages())]
    packages: Vec<String>,
    /// Only tests whose names contain this.
    #[arg(long)]
    filter: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Sanitizer {
    /// Accesses beyond memory, after it was freed, and memory that nobody frees.
    Address,
    /// Races of threads for memory. Needs the sources of the standard library, which is built with it.
    Thread,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    const ADVICE: &str =
        "sanitizers come with a nightly toolchain: `rustup toolchain install nightly`";
    let root = output(nightly("rustc").args(["--print", "sysroot"])).context(ADVICE)?;
    arguments.sanitizer.ensure_available(Path::new(root.trim()))?;
    let transcript = transcript(&mut tests(arguments)?)?;
    println!("{}: {}", arguments.sanitizer.name(), Counts::of(&transcript.lines));
    transcript.result
}

/// The tests of all packages in one command, so that what they have in common is built once.
fn tests(arguments: &Arguments) -> Result<Command> {
    let sanitizer = arguments.sanitizer;
    let suppressions = suppressions(sanitizer)?;
    let mut cargo = nightly("cargo");
    cargo.args(["test", "--lib", "--tests", "--no-fail-fast", "--target", TARGET]);
    let packages = SUITES.iter().filter(|package| arguments.concern(package));
    cargo.args(packages.flat_map(|package| ["--package", package]));
    cargo.arg("--target-dir").arg(paths::root().join("target").join(sanitizer.folder()));
    if sanitizer == Sanitizer::Thread {
        cargo.arg("-Zbuild-std");
    }
    cargo.args(arguments.filter.iter().flat_map(|filter| ["--", filter]));
    cargo.env("RUSTFLAGS", format!("-Zsanitizer={}", sanitizer.name()));
    cargo.env(sanitizer.variable(), sanitizer.options(&suppressions));
    cargo.env("LSAN_OPTIONS", format!("suppressions={}", suppressions.display()));
    Ok(cargo)
}

/// The file of what is not to be reported, each line with the reason above it.
fn suppressions(sanitizer: Sanitizer) -> Result<PathBuf> {
    let path = paths::root().join("target").join(sanitizer.folder()).join("suppressions.txt");
    fs::create_dir_all(path.parent().unwrap_or(&path))?;
    fs::write(&path, sanitizer.suppressed()).context("cannot write the suppressions")?;
    Ok(path)
}

impl Arguments {
    fn concern(&self, package: &str) -> bool {
        self.packages.is_empty() || self.packages.iter().any(|name| name == package)
    }
}

impl Sanitizer {
    fn name(self) -> &'static str {
        match self {
            Sanitizer::Address => "address",
            Sanitizer::Thread => "thread",
        }
    }

    fn folder(self) -> String {
        format!("sanitize-{}", self.name())
    }

    fn variable(self) -> &'static str {
        match self {
            Sanitizer::Address => "ASAN_OPTIONS",
            Sanitizer::Thread => "TSAN_OPTIONS",
        }
    }

    fn options(self, suppressions: &Path) -> String {
        let file = suppressions.display();
        match self {
            // The software driver takes SIGSEGV itself: a kernel's access to memory that it has not
            // is an error of the device, and anything else goes on to the sanitizer's handler, which
            // was there first. And where there is not so much memory, tests want to be told.
            Sanitizer::Address => {
                "allow_user_segv_handler=1:use_sigaltstack=1:detect_stack_use_after_return=0:\
                 allocator_may_return_null=1"
                    .to_owned()
            }
            Sanitizer::Thread => format!("suppressions={file}"),
        }
    }

    fn suppressed(self) -> &'static str {
        match self {
            Sanitizer::Address => suites::LEAKS,
            Sanitizer::Thread => suites::RACES,
        }
    }

    /// # Errors
    /// [`Unavailable`] if what this sanitizer needs is not installed.
    fn ensure_available(self, sysroot: &Path) -> Result<()> {
        let sources = sysroot.join("lib/rustlib/src/rust/library");
        if self == Sanitizer::Thread && !sources.is_dir() {
            let what = format!(
                "the thread sanitizer needs the standard library built with it, from sources that \
                 are not in {}: `rustup component add rust-src --toolchain nightly`",
                sources.display()
            );
            return Err(Unavailable(what).into());
        }
        Ok(())
    }
}

/// A program of the nightly toolchain, in the repository's root.
fn nightly(program: &str) -> Command {
    let mut command = Command::new("rustup");
    command.current_dir(paths::root()).args(["run", "nightly", program]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_standard_librarys_sources_there_is_no_thread_sanitizer() {
        let empty = tempfile::tempdir().expect("a temporary folder");
        let error = Sanitizer::Thread.ensure_available(empty.path()).expect_err("there are none");
        assert!(error.is::<Unavailable>(), "{error}");
        assert!(error.to_string().contains("rust-src"), "{error}");
        assert!(Sanitizer::Address.ensure_available(empty.path()).is_ok());
        fs::create_dir_all(empty.path().join("lib/rustlib/src/rust/library")).expect("a folder");
        assert!(Sanitizer::Thread.ensure_available(empty.path()).is_ok());
    }
}
