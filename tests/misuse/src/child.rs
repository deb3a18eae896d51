//! The process in which cases are tried: little address space, a journal, no mercy.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use gpu_runtime::{DriverChoice, choose_driver};

use crate::arguments::{Arguments, Trial};
use crate::calls::RandomCalls;
use crate::cases::{CaseEnd, Cases};
use crate::faults;
use crate::journal::Journal;
use crate::programs::RandomPrograms;
use crate::ration::Ration;

/// A child that ends so asks for another one to go on behind its last case.
pub(crate) const GO_ON: u8 = 3;

pub(crate) fn run(arguments: &Arguments, journal: &Path) -> Result<ExitCode> {
    if arguments.what() == Trial::Calls {
        Ration::of(arguments.cases().start).impose()?;
    }
    faults::note_panics();
    let journal = Journal::open(journal).context("cannot open the journal")?;
    choose_driver(DriverChoice::Software { devices: Some(2) })?;
    let (seed, tells) = (arguments.seed, arguments.only.is_some());
    let mut tried: Box<dyn Cases> = match arguments.what() {
        Trial::Calls => Box::new(RandomCalls::new(seed, tells)?),
        Trial::Programs => Box::new(RandomPrograms::new(seed, tells)?),
    };
    for case in arguments.cases() {
        journal.begin(case)?;
        let end = tried.run(case, &mut |fault| {
            println!("{}", fault.line());
            let _ = io::stdout().flush();
        })?;
        if end == CaseEnd::Spoilt {
            return Ok(ExitCode::from(GO_ON));
        }
    }
    journal.begin(arguments.cases().end)?;
    Ok(ExitCode::SUCCESS)
}
