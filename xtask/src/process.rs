//! Runs other programs: the one place where xtask shells out.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Seek};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::paths;

/// cargo, started in the repository's root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(paths::root()).args(arguments);
    cargo
}

/// Runs `command` with its output going where ours goes.
///
/// # Errors
/// If it cannot be started or does not succeed; the message has the whole command line.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", line(command)))?;
    succeeded(command, status)
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

/// The output of a command, and whether it succeeded.
pub(crate) struct Transcript {
    pub(crate) lines: Vec<String>,
    pub(crate) result: Result<()>,
}

/// Runs `command`, showing what it writes to both of its outputs and keeping it.
///
/// # Errors
/// If it cannot be started. Whether it succeeded is in the transcript.
pub(crate) fn transcript(command: &mut Command) -> Result<Transcript> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("cannot start {}", line(command)))?;
    let lines = Mutex::new(Vec::new());
    let keep = |text: String| lines.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(|| {
            each_line(errors, |text| {
                eprintln!("{text}");
                keep(text);
            })
        });
        each_line(output, |text| {
            println!("{text}");
            keep(text);
        });
    });
    let status = child.wait().with_context(|| format!("cannot wait for {}", line(command)))?;
    let result = succeeded(command, status);
    Ok(Transcript { lines: lines.into_inner().unwrap_or_else(PoisonError::into_inner), result })
}

/// The exit status of a command, and what it wrote to both of its outputs.
pub(crate) struct CommandEnd {
    pub(crate) succeeded: bool,
    pub(crate) text: String,
}

/// Runs `command`, and kills it if it takes longer than `limit`.
///
/// # Errors
/// If it cannot be started.
pub(crate) fn ended_within(command: &mut Command, limit: Duration) -> Result<CommandEnd> {
    const LOOK: Duration = Duration::from_millis(5);
    let mut output = tempfile::tempfile().context("cannot make a temporary file")?;
    command.stdout(output.try_clone()?).stderr(output.try_clone()?);
    let mut child = command.spawn().with_context(|| format!("cannot start {}", line(command)))?;
    let start = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if start.elapsed() > limit => break None,
            None => thread::sleep(LOOK),
        }
    };
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    let mut text = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut text)?;
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if status.is_none() {
        text += &format!("\nkilled after {} seconds\n", limit.as_secs());
    }
    Ok(CommandEnd { succeeded: status.is_some_and(|status| status.success()), text })
}

fn succeeded(command: &Command, status: ExitStatus) -> Result<()> {
    ensure!(status.success(), "{} failed: {status}", line(command));
    Ok(())
}

/// Hands on each line until there are no more. What is no UTF-8 is replaced.
fn each_line(stream: Option<impl Read>, mut take: impl FnMut(String)) {
    let lines = stream.into_iter().flat_map(|stream| BufReader::new(stream).split(b'\n'));
    for line in lines.map_while(std::result::Result::ok) {
        take(String::from_utf8_lossy(&line).into_owned());
    }
}

fn line(command: &Command) -> String {
    let cargo = env::var_os("CARGO");
    let is_cargo = cargo.as_deref() == Some(command.get_program());
    // What a person would type, not where rustup keeps it.
    let program = if is_cargo { OsStr::new("cargo") } else { command.get_program() };
    let words = std::iter::once(program).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    format!("`{}`", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_has_both_outputs_and_whether_the_command_succeeded() {
        let mut shell = Command::new("sh");
        let Transcript { mut lines, result } =
            transcript(shell.args(["-c", "echo out; echo err >&2; exit 3"])).expect("there is sh");
        lines.sort();
        assert_eq!(lines, ["err", "out"]);
        let error = result.expect_err("it does not succeed").to_string();
        assert!(error.starts_with("`sh -c echo") && error.contains('3'), "{error}");
    }

    #[test]
    fn a_command_that_takes_too_long_is_killed() {
        let hour = ["-c", "echo begun; exec sleep 3600"];
        let ended = ended_within(Command::new("sh").args(hour), Duration::from_millis(300));
        let ended = ended.expect("there is sh");
        assert!(!ended.succeeded);
        assert!(ended.text.starts_with("begun\n\nkilled"), "{}", ended.text);
        let quick = ended_within(Command::new("sh").args(["-c", "echo done"]), PATIENCE);
        assert!(quick.is_ok_and(|ended| ended.succeeded && ended.text == "done\n"));
    }

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_command_that_does_not_exist_is_an_error_that_names_it() {
        let error = run(&mut Command::new("no-such-program")).expect_err("there is none");
        assert!(error.to_string().contains("cannot start `no-such-program`"), "{error}");
    }
}
