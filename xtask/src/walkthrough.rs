//! `cargo xtask walkthrough`: does what `docs/newcomer.md` tells a newcomer to do, step by step, in an
//! empty folder.

mod page;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use self::page::PageStep;
use crate::paths::root;
use crate::process::transcript;

const PAGE: &str = "docs/newcomer.md";

/// Follows the page, and compares what its commands print with what it says.
///
/// # Errors
/// A command fails, or prints something else.
pub(crate) fn run() -> Result<()> {
    let text = fs::read_to_string(root().join(PAGE))?;
    let steps = page::steps(&text).with_context(|| format!("cannot read {PAGE}"))?;
    // Outside of this repository, whose workspace the newcomer's crate is no part of.
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let mut printed: Vec<String> = Vec::new();
    for step in steps {
        match step {
            PageStep::File { path, text } => write(&folder.join(path), &text)?,
            PageStep::Commands { line, text } => {
                let shown = transcript(&mut shell(folder, &text))?;
                shown.result.with_context(|| format!("{PAGE}:{line}"))?;
                printed = shown.lines;
            }
            PageStep::Printed { line, text } => {
                let missing = page::missing(&printed, &text);
                ensure!(
                    missing.is_none(),
                    "{PAGE}:{line}: nobody printed `{}`",
                    missing.unwrap_or("")
                );
            }
        }
    }
    Ok(())
}

/// The features that the programs of [`programs::release`](crate::programs::release) ask of
/// dependencies which a newcomer's crate has too. Without them those would be built again, and all that stands on them.
const SHARED: &str = r#"anyhow = "1"
csv = "1.4"
getrandom = { version = "0.4", features = ["std", "sys_rng"] }
image = { version = "0.25", default-features = false, features = ["png"] }
rustix = { version = "1", features = ["process", "time"] }
serde_json = { version = "1", features = ["float_roundtrip"] }
"#;

/// Writes a file of the page, where `../sluice` is this repository. A manifest gets the versions and
/// the features of dependencies that our own release build has, so that those are not built again.
fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a file has a folder")?;
    fs::create_dir_all(folder)?;
    let mut text = text.replace("../sluice", &root().display().to_string());
    if path.ends_with("Cargo.toml") {
        text = text.replace("[dependencies]\n", &format!("[dependencies]\n{SHARED}"));
        let versions = folder.join("Cargo.lock");
        if !versions.exists() {
            fs::copy(root().join("Cargo.lock"), versions)?;
        }
    }
    fs::write(path, text)?;
    Ok(())
}

/// A shell in the folder. What it builds shares dependencies with this repository's own release builds.
fn shell(folder: &Path, commands: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.current_dir(folder).args(["-e", "-c", commands]);
    shell.env("CARGO_TARGET_DIR", root().join("target"));
    shell.env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
    shell
}
