//! Writes the page of operations, which the exam's runner prints.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{paths, process};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folders of cases, of operations and of modules.
    #[arg(required = true)]
    dirs: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut cargo =
        process::cargo(&["run", "--release", "--quiet", "--package", "golden", "--", "operations"]);
    for dir in &arguments.dirs {
        // cargo runs in the repository's root.
        cargo.arg(std::path::absolute(dir)?);
    }
    let page = process::output(&mut cargo)?;
    let path = paths::root().join("docs/operations.md");
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}
