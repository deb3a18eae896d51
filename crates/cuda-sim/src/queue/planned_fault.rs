//! Work that fails on demand.

use std::ops::Range;
use std::sync::Arc;

use cuda_sys::CUresult;

use super::failure::Failure;
use super::job::Job;
use crate::config::WorkKind;
use crate::time::Demand;

/// A failure to come.
#[derive(Debug)]
pub(super) struct PlannedFault {
    pub(super) kind: WorkKind,
    /// Counts down; the work that brings it to zero fails.
    pub(super) left: u64,
    pub(super) result: CUresult,
}

/// Work that takes what the work in whose place it is would take, and fails.
struct InjectedFailure {
    demand: Demand,
    failure: Failure,
}

/// The kind of a job. `None` for what nobody can ask to fail.
pub(super) fn kind(job: &dyn Job) -> Option<WorkKind> {
    match job.demand() {
        Demand::Kernel { .. } => Some(WorkKind::Launch),
        Demand::Copy { .. } => Some(WorkKind::Copy),
        Demand::Fill { .. } => Some(WorkKind::Fill),
        Demand::Nothing | Demand::HostFunction => None,
    }
}

/// A job that fails in place of another.
pub(super) fn failing(job: &dyn Job, kind: WorkKind, code: CUresult) -> Arc<dyn Job> {
    let what = match kind {
        WorkKind::Launch => "launch",
        WorkKind::Copy => "copy",
        WorkKind::Fill => "fill",
    };
    let failure = Failure::on_demand(code, format!("a {what} failed on demand"));
    Arc::new(InjectedFailure { demand: job.demand(), failure })
}

impl Job for InjectedFailure {
    fn pieces(&self) -> u64 {
        1
    }

    fn is_heavy(&self) -> bool {
        false
    }

    fn demand(&self) -> Demand {
        self.demand
    }

    fn run(&self, _: Range<u64>) -> Result<(), Failure> {
        Err(self.failure.clone())
    }
}
