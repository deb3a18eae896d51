//! The programs of this repository that the gate's steps run, in the release profile.

use std::process::Command;

use anyhow::Result;

use crate::{paths, process};

/// The packages with [`RELEASE_TARGETS`]. Cargo builds a dependency once for each set of features
/// that packages of one build ask of it together, so all programs come from one build.
const RELEASE_PACKAGES: [&str; 4] = ["sluice", "golden", "misuse", "cuda-sim"];

const RELEASE_TARGETS: [&str; 8] =
    ["--example", "digits", "--bin", "golden", "--bin", "misuse", "--bin", "ptx-check"];

/// A program of the release build, which is made here if it is not up to date.
///
/// # Errors
/// If it cannot be built.
pub(crate) fn release(program: &str) -> Result<Command> {
    let mut build = process::cargo(&["build", "--release", "--quiet"]);
    build.args(RELEASE_PACKAGES.iter().flat_map(|package| ["--package", package]));
    // The paths below are those of this folder, whatever the environment sets.
    build.args(RELEASE_TARGETS).arg("--target-dir").arg(paths::target());
    process::run(&mut build)?;
    let folder = paths::target().join("release");
    let path = if program == "digits" { folder.join("examples") } else { folder }.join(program);
    let mut command = Command::new(path);
    command.current_dir(paths::root());
    Ok(command)
}
