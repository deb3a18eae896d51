//! Runs children, watches them, goes on where they end, and counts.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Context, Result};

use crate::arguments::{Arguments, Trial};
use crate::child;
use crate::faults::{CaseFault, CaseFaultKind};
use crate::journal::Journal;
use crate::ration::{PORTION, PORTION_OF_PROGRAMS};

/// The longest time of a case. Most take microseconds; the first of a kind compile kernels.
const PATIENCE: Duration = Duration::from_secs(60);
/// The variables of a child's environment, beside those that the program was started with.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("CUDA_SIM_MEMORY", "64MiB"),
    ("CUDA_SIM_WORKERS", "2"),
    ("MALLOC_ARENA_MAX", "2"),
    ("RUST_BACKTRACE", "0"),
];

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let cases = arguments.cases();
    let portion = match arguments.what() {
        Trial::Calls => PORTION,
        Trial::Programs => PORTION_OF_PROGRAMS,
    };
    let starts = Mutex::new(cases.clone().step_by(portion as usize));
    let counts = Mutex::new(BTreeMap::new());
    let folder = tempfile::tempdir().context("cannot make a folder for journals")?;
    thread::scope(|scope| {
        let jobs: Vec<_> = (0..arguments.jobs.max(1))
            .map(|job| {
                let (starts, counts, cases) = (&starts, &counts, &cases);
                let journal = folder.path().join(job.to_string());
                scope.spawn(move || {
                    let worker = Worker { arguments, journal: &journal, counts };
                    let next = || starts.lock().unwrap_or_else(PoisonError::into_inner).next();
                    while let Some(start) = next() {
                        worker.portion(start..(start + portion).min(cases.end))?;
                    }
                    Ok(())
                })
            })
            .collect();
        jobs.into_iter().try_for_each(|job| job.join().unwrap_or_else(|_| Ok(())))
    })
    .map(|()| closing(arguments, &counts.into_inner().unwrap_or_default()))
}

/// Says what there was; the program fails if there was anything.
fn closing(arguments: &Arguments, counts: &BTreeMap<CaseFaultKind, u64>) -> ExitCode {
    let cases = arguments.cases();
    let what = arguments.what();
    let count =
        |kind: &CaseFaultKind| format!(" {} {}", kind.plural(), counts.get(kind).unwrap_or(&0));
    let counted: String = what.faults().iter().map(count).collect();
    println!("{what} {}{counted}", cases.end - cases.start);
    if counts.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One of the threads that run children.
struct Worker<'a> {
    arguments: &'a Arguments,
    journal: &'a Path,
    counts: &'a Mutex<BTreeMap<CaseFaultKind, u64>>,
}

impl Worker<'_> {
    /// Has all cases of a range tried, by as many children as it takes.
    fn portion(&self, mut cases: Range<u64>) -> Result<()> {
        while !cases.is_empty() {
            let journal = Journal::create(self.journal)?;
            journal.begin(cases.start)?;
            let mut child = self.command(&cases).spawn().context("cannot start a child")?;
            let output = child.stdout.take().map(BufReader::new);
            let ended = thread::scope(|scope| {
                let first = cases.start;
                scope.spawn(move || self.listen(output, first));
                self.watch(&mut child, &journal)
            })?;
            let case = journal.case()?;
            match ended {
                ChildEnd::By(status) if status.success() => return Ok(()),
                ChildEnd::By(status) if status.code() == Some(child::GO_ON.into()) => {}
                ChildEnd::By(status) => {
                    let text = if case < cases.end { "in the case" } else { "when it ended" };
                    let text = format!("{text}: {status}");
                    self.tell(&CaseFault { kind: CaseFaultKind::Abort, case, text }, cases.start);
                }
                ChildEnd::Hanging => {
                    let text = format!("for {} seconds", PATIENCE.as_secs());
                    self.tell(&CaseFault { kind: CaseFaultKind::Hang, case, text }, cases.start);
                }
            }
            cases.start = cases.end.min(case + 1);
        }
        Ok(())
    }

    fn command(&self, cases: &Range<u64>) -> Command {
        let program = env::current_exe().unwrap_or_else(|_| "misuse".into());
        let mut command = Command::new(program);
        command.arg(format!("--{}", self.arguments.what())).arg(cases.end.to_string());
        command.arg("--seed").arg(self.arguments.seed.to_string());
        command.arg("--journal").arg(self.journal);
        // Without `--only` a child tells nothing of what it draws.
        if self.arguments.only.is_some() {
            command.arg("--only").arg(format!("{}..{}", cases.start, cases.end));
        } else {
            command.arg("--from").arg(cases.start.to_string());
        }
        command
            .envs(ENVIRONMENT)
            .envs(self.arguments.environment(cases.start))
            .stdout(Stdio::piped());
        command
    }

    /// Counts the faults that a child tells of, and prints what else it says.
    fn listen(&self, output: Option<impl BufRead>, first: u64) {
        let lines = output.into_iter().flat_map(BufRead::lines).map_while(std::result::Result::ok);
        for line in lines {
            match CaseFault::of_line(&line) {
                Some(fault) => self.tell(&fault, first),
                None => println!("{line}"),
            }
        }
    }

    fn tell(&self, fault: &CaseFault, first: u64) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(fault.kind).or_default() += 1;
        let CaseFault { kind, case, text } = fault;
        let seed = self.arguments.seed;
        println!("{kind} {text}");
        println!(
            "    --{} 1 --seed {seed} --only {case}   (or, with what came before: --only {first}..{})",
            self.arguments.what(),
            case + 1
        );
    }

    /// Waits for a child, and ends it when it stays at one case.
    fn watch(&self, child: &mut Child, journal: &Journal) -> Result<ChildEnd> {
        let mut seen = (journal.case()?, Instant::now());
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(ChildEnd::By(status));
            }
            let case = journal.case()?;
            if case != seen.0 {
                seen = (case, Instant::now());
            } else if seen.1.elapsed() > PATIENCE {
                child.kill()?;
                child.wait()?;
                return Ok(ChildEnd::Hanging);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

enum ChildEnd {
    By(ExitStatus),
    Hanging,
}
