//! Why device work failed.

use cuda_sys::CUresult;

use cuda_check::Report;

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The error that the driver's calls report from now on.
    pub(crate) code: CUresult,
    /// The cause, for a person.
    pub(crate) text: String,
    /// Whether the person knows it: it was reported, or asked for.
    pub(crate) is_told: bool,
}

impl Failure {
    /// A failure that nobody has heard of.
    pub(crate) fn new(code: CUresult, text: impl Into<String>) -> Failure {
        Failure { code, text: text.into(), is_told: false }
    }

    /// A failure that was asked for.
    pub(crate) fn on_demand(code: CUresult, text: impl Into<String>) -> Failure {
        Failure { is_told: true, ..Failure::new(code, text) }
    }
}

/// Ends an operation with what checks found wrong with it.
impl From<Box<Report>> for Failure {
    fn from(report: Box<Report>) -> Failure {
        let code = report.kind.error().unwrap_or(CUresult::CUDA_ERROR_LAUNCH_FAILED);
        Failure { code, text: report.to_string(), is_told: true }
    }
}
