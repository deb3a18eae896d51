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
    fs::create_dir(folder.join(".cargo"))?;
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    fs::write(folder.join(".cargo/config.toml"), configuration(&manifest)?)?;
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

/// The features that this repository's other packages ask of dependencies which a newcomer's crate has
/// too. Without them those would be built again, and all that stands on them.
const SHARED: &str = r#"
[dependencies.anyhow]
version = "1"

[dependencies.bytemuck]
version = "1"
features = ["derive", "extern_crate_alloc"]

[dependencies.csv]
version = "1.4"

[dependencies.faer]
version = "0.24"
default-features = false
features = ["std", "linalg"]

[dependencies.gemm]
version = "0.19"
default-features = false
features = ["std", "rayon", "f16"]

[dependencies.getrandom]
version = "0.4"
features = ["std", "sys_rng"]

[dependencies.image]
version = "0.25"
default-features = false
features = ["png"]

[dependencies.loom]
version = "0.7"

[dependencies.num-traits]
version = "0.2"

[dependencies.regex-syntax]
version = "0.8"

[dependencies.rustix]
version = "1"
features = ["process", "time"]

[dependencies.serde_json]
version = "1"
features = ["float_roundtrip"]

# Not compiled, as there is no build script: it is what procedural macros stand on.
[build-dependencies.syn]
version = "2"
default-features = false
features = ["visit-mut"]
"#;

/// Writes a file of the page, where `../sluice` is this repository. A manifest gets the versions and
/// the features of dependencies that our own build has, so that those are not built again.
fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a file has a folder")?;
    fs::create_dir_all(folder)?;
    let mut text = text.replace("../sluice", &root().display().to_string());
    if path.ends_with("Cargo.toml") {
        text.push_str(SHARED);
        let versions = folder.join("Cargo.lock");
        if !versions.exists() {
            fs::copy(root().join("Cargo.lock"), versions)?;
        }
    }
    fs::write(path, text)?;
    Ok(())
}

/// The packages of this repository that the newcomer's crate stands on. For another workspace they are
/// built anew, and not optimised, since nothing on the page takes long.
const NOT_OPTIMISED: [&str; 16] = [
    "collectives",
    "cpu-kernels",
    "cuda-check",
    "cuda-sim",
    "cuda-sys",
    "expression",
    "gpu-alloc",
    "gpu-runtime",
    "kernels",
    "nn",
    "parallel",
    "ptx",
    "ptx-jit",
    "serialization",
    "sluice",
    "tensor",
];

/// A configuration of cargo with the dev profile of this repository's manifest. A release build
/// would share nothing with the tests, and take longer than all the rest.
fn configuration(manifest: &str) -> Result<String> {
    let begin = manifest.find("[profile.dev]").context("the manifest has no dev profile")?;
    let tables = &manifest[begin..];
    let end = tables.find("[profile.release]").context("the release profile follows it")?;
    let mut lines: Vec<String> = tables[..end].lines().map(Into::into).collect();
    lines.retain(|line| !NOT_OPTIMISED.iter().any(|name| line.starts_with(&format!("{name}."))));
    lines.extend(NOT_OPTIMISED.iter().map(|name| format!("{name}.opt-level = 0")));
    Ok(lines.join("\n"))
}

/// A shell in the folder. What the page builds in the release profile is built in the dev profile here,
/// which shares its dependencies with this repository's tests.
fn shell(folder: &Path, commands: &str) -> Command {
    let mut shell = Command::new("sh");
    let commands = commands.replace("cargo run --release", "cargo run");
    shell.current_dir(folder).args(["-e", "-c", &commands]);
    shell.env("CARGO_TARGET_DIR", root().join("target"));
    shell
}
