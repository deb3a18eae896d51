//! The parent: starts children, watches them, and reports.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::arguments::RunArguments;
use crate::child::{READY, SPENT};
use crate::folder::{CaseFolder, CaseHeader};
use crate::report::{self, CaseResult, CaseVerdict};

/// The most cases of a child.
const MAX_BATCH: usize = 256;

/// The time that a case may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time that a child may take to begin.
const START: Duration = Duration::from_secs(120);

/// Runs all cases, and prints the report. Gives whether all passed.
///
/// # Errors
/// The folder cannot be read, or no child can be started.
pub(crate) fn run(arguments: &RunArguments) -> Result<bool> {
    let headers: Vec<CaseHeader> = CaseFolder::open(&arguments.dir)?
        .lines()
        .step_by(arguments.every.max(1))
        .map(|line| serde_json::from_str(line).context("a case"))
        .collect::<Result<_>>()?;
    let results = sit_all(arguments, &headers)?;
    let both = || headers.iter().zip(&results);
    if arguments.json {
        for result in &results {
            println!("{}", serde_json::to_string(result)?);
        }
    } else {
        print_table(both());
    }
    println!("{}", serde_json::json!({ "totals": report::totals(both()) }));
    let mut stages: Vec<u32> = headers.iter().filter_map(|header| header.stage).collect();
    stages.sort_unstable();
    stages.dedup();
    for stage in stages {
        let totals = report::totals(both().filter(|(header, _)| header.stage == Some(stage)));
        println!("{}", serde_json::json!({ "stage": stage, "totals": totals }));
    }
    Ok(results.iter().all(|result| result.verdict == CaseVerdict::Pass))
}

fn print_table<'a>(results: impl Iterator<Item = (&'a CaseHeader, &'a CaseResult)>) {
    let (lines, unsupported) = report::table(results);
    if !lines.is_empty() {
        println!("{}", report::heading());
    }
    for line in lines {
        println!("{line}");
    }
    let names: Vec<String> =
        unsupported.iter().map(|(name, cases)| format!("{name} {cases}")).collect();
    println!("unsupported: {}", names.join(", "));
}

/// The results of all cases, in order. The batches are shared out between threads, each of which
/// watches one child at a time.
///
/// # Errors
/// No child can be started.
pub(crate) fn sit_all(arguments: &RunArguments, headers: &[CaseHeader]) -> Result<Vec<CaseResult>> {
    let jobs = arguments.jobs.max(1);
    let batch = headers.len().div_ceil(jobs).clamp(1, MAX_BATCH);
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Vec<CaseResult>)>> = Mutex::new(Vec::new());
    let watch = || -> Result<()> {
        loop {
            let from = next.fetch_add(1, Ordering::Relaxed) * batch;
            let Some(headers) = headers.get(from..headers.len().min(from + batch)) else {
                return Ok(());
            };
            let results = sit_batch(arguments, from, headers)?;
            done.lock().expect("no thread panics with it").push((from, results));
        }
    };
    thread::scope(|scope| {
        let watchers: Vec<_> = (0..jobs).map(|_| scope.spawn(watch)).collect();
        watchers.into_iter().try_for_each(|watcher| watcher.join().expect("it does not panic"))
    })?;
    let mut done = done.into_inner().expect("no thread panics with it");
    done.sort_by_key(|(from, _)| *from);
    Ok(done.into_iter().flat_map(|(_, results)| results).collect())
}

/// The results of a batch: a child that ends or hangs costs the case that it was at.
fn sit_batch(
    arguments: &RunArguments,
    from: usize,
    headers: &[CaseHeader],
) -> Result<Vec<CaseResult>> {
    let mut results: Vec<CaseResult> = Vec::new();
    while results.len() < headers.len() {
        let (position, left) = (from + results.len(), headers.len() - results.len());
        let mut watched = WatchedChild::start(arguments, position, left)?;
        let lost = loop {
            match watched.next()? {
                Ok(Some(result)) => results.push(result),
                // The child has lost its device, and the next case needs another one.
                Ok(None) => break None,
                Err(_) if results.len() == headers.len() => break None,
                Err(lost) => break Some(lost),
            }
            let panicked = results.last().is_some_and(|last| last.verdict == CaseVerdict::Panic);
            if panicked || results.len() == headers.len() {
                break None;
            }
        };
        let ended = watched.end();
        if let Some(verdict) = lost {
            let id = headers[results.len()].id;
            let detail = if verdict == CaseVerdict::Panic { ended } else { String::new() };
            results.push(CaseResult::lost(id, verdict, detail));
        }
    }
    Ok(results)
}

/// A child, and the lines that it prints.
struct WatchedChild {
    process: Child,
    lines: Receiver<String>,
}

impl WatchedChild {
    /// Starts a child, and waits until it begins.
    fn start(arguments: &RunArguments, from: usize, count: usize) -> Result<WatchedChild> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("run")
            .args(arguments.second.then_some("--second"))
            .arg(&arguments.dir)
            .args(["--device", &arguments.device])
            .args(["--threads", &arguments.threads.to_string()])
            .args(["--every", &arguments.every.to_string()])
            .args(["--from", &from.to_string(), "--count", &count.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = process.stdout.take().context("the child's output")?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let child = WatchedChild { process, lines };
        match child.lines.recv_timeout(START) {
            Ok(line) if line == READY => Ok(child),
            Ok(line) => bail!("a child: {line}"),
            Err(_) => bail!("a child did not begin"),
        }
    }

    /// The next result, or what became of the child; `None` if it ends for want of a device.
    fn next(&mut self) -> Result<Result<Option<CaseResult>, CaseVerdict>> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) if line == SPENT => Ok(Ok(None)),
            Ok(line) => Ok(Ok(Some(serde_json::from_str(&line).context("a child's line")?))),
            Err(RecvTimeoutError::Timeout) => Ok(Err(CaseVerdict::Timeout)),
            Err(RecvTimeoutError::Disconnected) => Ok(Err(CaseVerdict::Panic)),
        }
    }

    /// Ends the child, and says how it ended if it had by itself.
    fn end(mut self) -> String {
        let ended = match self.process.try_wait() {
            Ok(Some(status)) => status.to_string(),
            _ => String::new(),
        };
        // It may have ended meanwhile, which is as good.
        let _ = self.process.kill();
        match self.process.wait() {
            Ok(status) if ended.is_empty() => status.to_string(),
            _ => ended,
        }
    }
}
