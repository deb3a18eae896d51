//! The programs of this repository that the gate's steps run, in the dev profile, in which the tests
//! have built them and all that they stand on.

use std::process::Command;

use anyhow::Result;

use crate::{paths, process};

const TARGETS: [&str; 8] =
    ["--example", "digits", "--bin", "golden", "--bin", "misuse", "--bin", "ptx-check"];

/// A program of the workspace's build, which is made here if it is not up to date.
///
/// # Errors
/// If it cannot be built.
pub(crate) fn built(program: &str) -> Result<Command> {
    // With the features that the tests' build asks of dependencies: those of all packages together.
    let mut build = process::cargo(&["build", "--workspace", "--quiet"]);
    // The paths below are those of this folder, whatever the environment sets.
    build.args(TARGETS).arg("--target-dir").arg(paths::target());
    process::run(&mut build)?;
    let folder = paths::target().join("debug");
    let path = if program == "digits" { folder.join("examples") } else { folder }.join(program);
    let mut command = Command::new(path);
    command.current_dir(paths::root());
    Ok(command)
}
