//! The cases that a child tries, one after the other.

use anyhow::Result;

use crate::faults::CaseFault;

/// The traces that a case leaves behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CaseEnd {
    Clean,
    /// A device is lost, as some arguments may cost one, or a thread has stopped half way: this
    /// process is of no use any more.
    Spoilt,
}

pub(crate) trait Cases {
    /// Tries a case, and tells of what went wrong.
    ///
    /// # Errors
    /// Nothing can be tried.
    fn run(&mut self, case: u64, tell: &mut dyn FnMut(CaseFault)) -> Result<CaseEnd>;
}
