//! Why device work failed.

use cuda_sys::CUresult;

use crate::check::Report;

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What the driver's calls report from now on.
    pub(crate) code: CUresult,
    /// What happened, for a person.
    pub(crate) text: String,
}

/// What checks find wrong with an operation ends it.
impl From<Box<Report>> for Failure {
    fn from(report: Box<Report>) -> Failure {
        let code = report.kind.error().unwrap_or(CUresult::CUDA_ERROR_LAUNCH_FAILED);
        Failure { code, text: report.to_string() }
    }
}
