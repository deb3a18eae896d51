//! The checks of copies and fills.

use std::sync::Arc;

use super::check_kinds::CheckKinds;
use super::enabled;
use super::filed;
use super::findings::{USED_TOO_EARLY, author, described, missing_edge};
use super::operation::{self, CheckedOperation, by_bits};
use super::record::{AccessClass, AccessRecord, Author};
use super::report::{Report, ReportKind};
use super::shadow::ShadowMemory;
use super::tracked::{self, Tracked};

/// The calling thread is about to copy `bytes` bytes. Without `from`, they come from memory of the
/// program's, all of which counts as written.
///
/// # Errors
/// The copy races with another operation.
pub fn copying(to: u64, from: Option<u64>, bytes: u64) -> Result<(), Box<Report>> {
    if !enabled::is_on() {
        return Ok(());
    }
    let mut done = 0;
    while done < bytes {
        let source = match from.map(|from| from + done) {
            Some(from) => known((from, living(from, bytes - done, AccessClass::BulkRead)?)),
            None => None,
        };
        let target = known((to + done, living(to + done, bytes - done, AccessClass::BulkWrite)?));
        // Mappings may follow on each other.
        let room = |(at, tracked): &(u64, Arc<Tracked>)| tracked.range.end - at;
        let sides = [&source, &target].into_iter().flatten();
        let part = sides.map(room).fold(bytes - done, u64::min);
        copying_part(target, source, part)?;
        done += part;
    }
    Ok(())
}

fn known((at, tracked): (u64, Option<Arc<Tracked>>)) -> Option<(u64, Arc<Tracked>)> {
    tracked.map(|tracked| (at, tracked))
}

/// The allocation that an address lies in; `None` for memory that checks do not know.
///
/// # Errors
/// It was freed, or is not yet allocated.
fn living(
    address: u64,
    bytes: u64,
    kind: AccessClass,
) -> Result<Option<Arc<Tracked>>, Box<Report>> {
    let found = tracked::find(address);
    if found.is_some() {
        return Ok(found);
    }
    let wrong = match (tracked::find_freed(address), tracked::find_coming(address)) {
        (Some(freed), _) => Some((ReportKind::UseAfterFree, freed, "")),
        (None, Some(coming)) => Some((ReportKind::StreamRace, coming, USED_TOO_EARLY)),
        (None, None) => None,
    };
    let Some((what, tracked, detail)) = wrong else { return Ok(None) };
    let operation = operation::current();
    let report = Report {
        kind: what,
        actor: Some(described(kind.kind().name(), operation.as_deref(), 0)),
        address: Some(address),
        bytes,
        allocation: Some(tracked.info(address)),
        other: None,
        made: None,
        detail: detail.to_owned(),
    };
    Err(filed(report))
}

/// Checks a part of [`copying`] that lies in one allocation on each side.
fn copying_part(
    target: Option<(u64, Arc<Tracked>)>,
    source: Option<(u64, Arc<Tracked>)>,
    bytes: u64,
) -> Result<(), Box<Report>> {
    if let Some((from, tracked)) = &source {
        check(tracked, *from, bytes, AccessClass::BulkRead)?;
    }
    let Some((to, target)) = target else { return Ok(()) };
    check(&target, to, bytes, AccessClass::BulkWrite)?;
    if enabled::kinds().has(CheckKinds::INIT) {
        let place = target.place(to);
        match &source {
            Some((from, source)) => {
                hand_on(source.shadow(), source.place(*from), target.shadow(), place, bytes);
            }
            None => target.shadow().set_all_written(place..place + bytes),
        }
    }
    Ok(())
}

/// Marks bytes as written that something else than a copy or a fill has written, in an order of its
/// own.
pub fn written(to: u64, bytes: u64) {
    if enabled::kinds().has(CheckKinds::INIT)
        && let Some(target) = tracked::find(to)
        && target.covers(&(to..to + bytes))
    {
        let place = target.place(to);
        target.shadow().set_all_written(place..place + bytes);
    }
}

/// The calling thread's operation begins or ends an allocation.
///
/// # Errors
/// It races with another operation.
pub(crate) fn touches_all(tracked: &Tracked) -> Result<(), Box<Report>> {
    let bytes = tracked.range.end - tracked.range.start;
    check(tracked, tracked.range.start, bytes, AccessClass::BulkWrite)
}

/// The calling thread is about to fill `bytes` bytes.
///
/// # Errors
/// The fill races with another operation.
pub fn filling(to: u64, bytes: u64) -> Result<(), Box<Report>> {
    copying(to, None, bytes)
}

/// Marks as written in the target what was written in the source.
fn hand_on(source: &ShadowMemory, from: u64, target: &ShadowMemory, to: u64, bytes: u64) {
    if source.is_all_written(from..from + bytes) {
        return target.set_all_written(to..to + bytes);
    }
    for offset in (0..bytes).step_by(64) {
        let count = (bytes - offset).min(64);
        target.set_written(to + offset, count, source.written(from + offset, count));
    }
}

fn check(
    tracked: &Tracked,
    address: u64,
    bytes: u64,
    kind: AccessClass,
) -> Result<(), Box<Report>> {
    let Some(operation) = operation::current() else { return Ok(()) };
    if !enabled::kinds().has(CheckKinds::STREAMS) {
        return Ok(());
    }
    let bits = operation.bits();
    let author = Author { kind, operation: bits, block: 0, thread: 0, clock: 0, line: 0 };
    let mut last = (bits, true);
    let is_ordered = |record: AccessRecord| {
        if record.operation() != last.0 {
            last = (record.operation(), operation.is_after(record.operation()));
        }
        last.1
    };
    let start = tracked.place(address);
    let found = tracked.shadow().bulk(start..start + bytes, &author, is_ordered);
    found.map_err(|(place, record)| {
        race(&operation, kind, (tracked.address(place), bytes), record, tracked)
    })
}

fn race(
    operation: &CheckedOperation,
    kind: AccessClass,
    (address, bytes): (u64, u64),
    record: AccessRecord,
    tracked: &Tracked,
) -> Box<Report> {
    let other = by_bits(record.operation());
    let report = Report {
        kind: ReportKind::StreamRace,
        actor: Some(described(kind.kind().name(), Some(operation), 0)),
        address: Some(address),
        bytes,
        allocation: Some(tracked.info(address)),
        other: Some(author(record, other.as_deref(), [1; 3])),
        made: None,
        detail: other.map_or_else(String::new, |other| missing_edge(operation, &other)),
    };
    filed(report)
}

/// Files a report, which ends the operation.
fn filed(report: Report) -> Box<Report> {
    filed::file(report.clone());
    Box::new(report)
}
