//! The command line: what is tried, and how.

use std::num::NonZero;
use std::ops::Range;
use std::path::PathBuf;
use std::{fmt, thread};

use clap::Parser;

use crate::faults::CaseFaultKind;
use crate::ration::{PORTION_OF_PROGRAMS, Ration};

/// Tries to do harm from safe code.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    /// The number of random calls.
    #[arg(long, required_unless_present = "programs", conflicts_with = "programs")]
    pub(crate) calls: Option<u64>,
    /// The number of random programs.
    #[arg(long)]
    pub(crate) programs: Option<u64>,
    /// The seed that all random choices follow from.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Only this case, or those from the first up to before the last (`3..9`), telling what is
    /// drawn.
    #[arg(long, value_parser = range)]
    pub(crate) only: Option<Range<u64>>,
    /// The number of child processes that run at a time.
    #[arg(long, default_value_t = processors())]
    pub(crate) jobs: usize,
    /// The first case, in a child.
    #[arg(long, default_value_t = 0, hide = true)]
    pub(crate) from: u64,
    /// The journal of the parent, in a child.
    #[arg(long, hide = true)]
    pub(crate) journal: Option<PathBuf>,
}

/// The kind of cases that are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    Calls,
    Programs,
}

impl Trial {
    /// The faults that are counted, in the order of the last line.
    pub(crate) fn faults(self) -> [CaseFaultKind; 4] {
        let last = match self {
            Trial::Calls => CaseFaultKind::Leak,
            Trial::Programs => CaseFaultKind::Wrong,
        };
        [CaseFaultKind::Panic, CaseFaultKind::Abort, CaseFaultKind::Hang, last]
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Trial::Calls => "calls",
            Trial::Programs => "programs",
        })
    }
}

impl Arguments {
    pub(crate) fn what(&self) -> Trial {
        if self.programs.is_some() { Trial::Programs } else { Trial::Calls }
    }

    /// The environment of a child that begins with a case: for calls, whether devices have
    /// virtual memory, and for programs, whether launches are waited for.
    pub(crate) fn environment(&self, case: u64) -> [(&'static str, &'static str); 1] {
        match self.what() {
            Trial::Calls => Ration::of(case).environment(),
            Trial::Programs => {
                let is_odd = !(case / PORTION_OF_PROGRAMS).is_multiple_of(2);
                [("CUDA_LAUNCH_BLOCKING", if is_odd { "1" } else { "0" })]
            }
        }
    }

    /// The cases to try.
    pub(crate) fn cases(&self) -> Range<u64> {
        let all = self.programs.or(self.calls).unwrap_or_default();
        self.only.clone().unwrap_or(self.from..all)
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let number = |text: &str| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
    match text.split_once("..") {
        Some((first, end)) => Ok(number(first)?..number(end)?),
        None => number(text).map(|case| case..case + 1),
    }
}
