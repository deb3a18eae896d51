//! The checks of copies and fills.

use cuda_sys::CUresult;

use super::findings::{author, described, missing_edge};
use super::kinds::CheckKinds;
use super::operation::{self, Operation, by_bits};
use super::record::{Author, Kind, Record};
use super::report::{self, Report, ReportKind};
use super::shadow::Shadow;
use super::tracked::{self, Tracked};
use crate::queue::Failure;

/// The calling thread is about to copy `bytes` bytes. Without `from`, they come from memory of the
/// program's, all of which counts as written.
///
/// # Errors
/// The copy races with another operation.
pub(crate) fn copying(to: u64, from: Option<u64>, bytes: u64) -> Result<(), Failure> {
    if !super::is_on() {
        return Ok(());
    }
    let source = from.and_then(|from| tracked::find(from).map(|tracked| (from, tracked)));
    if let Some((from, tracked)) = &source {
        check(tracked, *from, bytes, Kind::BulkRead)?;
    }
    let Some(target) = tracked::find(to) else { return Ok(()) };
    check(&target, to, bytes, Kind::BulkWrite)?;
    if super::kinds().has(CheckKinds::INIT) && holds(&target, to, bytes) {
        match &source {
            Some((from, source)) if holds(source, *from, bytes) => {
                hand_on(source.shadow(), *from, target.shadow(), to, bytes);
            }
            _ => target.shadow().set_all_written(to..to + bytes),
        }
    }
    Ok(())
}

/// The calling thread is about to fill `bytes` bytes.
///
/// # Errors
/// The fill races with another operation.
pub(crate) fn filling(to: u64, bytes: u64) -> Result<(), Failure> {
    copying(to, None, bytes)
}

fn holds(tracked: &Tracked, address: u64, bytes: u64) -> bool {
    tracked.covers(&(address..address + bytes))
}

/// What was written in the source is written in the target.
fn hand_on(source: &Shadow, from: u64, target: &Shadow, to: u64, bytes: u64) {
    if source.is_all_written(from..from + bytes) {
        return target.set_all_written(to..to + bytes);
    }
    for offset in (0..bytes).step_by(64) {
        let count = (bytes - offset).min(64);
        target.set_written(to + offset, count, source.written(from + offset, count));
    }
}

fn check(tracked: &Tracked, address: u64, bytes: u64, kind: Kind) -> Result<(), Failure> {
    let Some(operation) = operation::current() else { return Ok(()) };
    if !super::kinds().has(CheckKinds::STREAMS) || !holds(tracked, address, bytes) {
        return Ok(());
    }
    let bits = operation.bits();
    let author = Author { kind, operation: bits, block: 0, thread: 0, clock: 0, line: 0 };
    let mut last = (bits, true);
    let is_ordered = |record: Record| {
        if record.operation() != last.0 {
            last = (record.operation(), operation.is_after(record.operation()));
        }
        last.1
    };
    let found = tracked.shadow().bulk(address..address + bytes, &author, is_ordered);
    found.map_err(|(place, record)| race(&operation, kind, (place, bytes), record, tracked))
}

fn race(
    operation: &Operation,
    kind: Kind,
    (place, bytes): (u64, u64),
    record: Record,
    tracked: &Tracked,
) -> Failure {
    let other = by_bits(record.operation());
    let access = if kind.writes() { "write" } else { "read" };
    let report = Report {
        kind: ReportKind::StreamRace,
        actor: Some(described(access, Some(operation), 0)),
        address: Some(place),
        bytes,
        allocation: Some(tracked.info(place)),
        other: Some(author(record, other.as_deref(), [1; 3])),
        detail: other.map_or_else(String::new, |other| missing_edge(operation, &other)),
    };
    let failure = Failure { code: CUresult::CUDA_ERROR_LAUNCH_FAILED, text: report.to_string() };
    report::file(report);
    failure
}
