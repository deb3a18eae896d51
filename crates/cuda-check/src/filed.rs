//! The reports of the process, which its program can read.

use parking_lot::{Mutex, MutexGuard};

use super::printed;
use super::report::{Report, ReportKind};

/// The number of reports that are kept.
const MAX_REPORTS: usize = 10_000;

static REPORTS: Mutex<Filed> = Mutex::new(Filed { reports: Vec::new(), read: 0 });

struct Filed {
    reports: Vec<Report>,
    /// The number of reports that the program has seen.
    read: usize,
}

/// Keeps a report, and logs it.
pub(crate) fn file(report: Report) {
    match report.kind {
        // What ends a launch is logged as the device's failure too.
        kind if kind.error().is_some() => tracing::debug!("{report}"),
        _ => tracing::warn!("{report}"),
    }
    printed::print(&report);
    let mut filed = filed();
    if filed.reports.len() < MAX_REPORTS {
        filed.reports.push(report);
    }
}

/// The reports since the process began, or since they were last cleared.
pub fn reports() -> Vec<Report> {
    let mut filed = filed();
    filed.read = filed.reports.len();
    filed.reports.clone()
}

/// Reports that the program has not seen, that no call's error tells of, and that were not printed:
/// those on barriers and shuffles.
pub(crate) fn unread_remarks() -> Vec<Report> {
    if printed::is_on() {
        return Vec::new();
    }
    unread(|report| report.kind != ReportKind::Leak && report.kind.error().is_none())
}

/// The leaks that were filed and that nobody has seen, if a person is to be told of them.
pub(crate) fn leaks_to_tell() -> Vec<Report> {
    if !printed::is_on() {
        return Vec::new();
    }
    unread(|report| report.kind == ReportKind::Leak)
}

/// The reports of some kind that the program has not seen.
fn unread(is_meant: impl Fn(&Report) -> bool) -> Vec<Report> {
    let filed = filed();
    filed.reports[filed.read..].iter().filter(|report| is_meant(report)).cloned().collect()
}

/// Forgets all reports.
pub fn clear() {
    *filed() = Filed { reports: Vec::new(), read: 0 };
}

fn filed() -> MutexGuard<'static, Filed> {
    REPORTS.lock()
}
