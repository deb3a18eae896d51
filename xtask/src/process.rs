//! Runs other programs: the one place where xtask shells out.

use std::ffi::OsStr;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Runs `command` with its output going where ours goes.
///
/// # Errors
/// If it cannot be started or does not succeed; the message has the whole command line.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", line(command)))?;
    if !status.success() {
        bail!("{} failed: {status}", line(command));
    }
    Ok(())
}

/// Runs `command` and gives what it wrote to its standard output.
///
/// # Errors
/// As [`run`]; the message has what the command wrote to its standard error too.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", line(command)))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{} failed: {}\n{}", line(command), output.status, errors.trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} wrote no UTF-8", line(command)))
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    format!("`{}`", words.join(" "))
}
