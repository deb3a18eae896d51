//! The software driver in a process of its own, as the process that asks it sees it.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::error::{Error, Result};

/// A process with a software driver. It ends when this is dropped.
pub(super) struct Simulator {
    process: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Simulator {
    /// Starts one with so many workers.
    pub(super) fn start(workers: usize) -> Result<Simulator> {
        let mut process = Command::new(env::current_exe()?)
            .args(["--serve", &workers.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let questions = process.stdin.take();
        let answers = process.stdout.take().ok_or_else(|| Error::Apart("no output".into()))?;
        Ok(Simulator { process, questions, answers: BufReader::new(answers) })
    }

    /// The time of so many calls of a case in the other process.
    pub(super) fn sample(&mut self, case: &str, calls: u32) -> Result<Duration> {
        let questions = self.questions.as_mut().ok_or_else(|| Error::Apart("no input".into()))?;
        writeln!(questions, "{case} {calls}")?;
        questions.flush()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        let answer = answer.trim();
        let nanoseconds = answer.parse().map_err(|_| Error::Apart(answer.to_owned()))?;
        Ok(Duration::from_nanos(nanoseconds))
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // Without more questions it ends by itself; nobody can be told of a failure.
        self.questions = None;
        let _ = self.process.wait();
    }
}
