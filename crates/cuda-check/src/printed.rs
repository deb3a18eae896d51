//! Findings of checks on standard error, for a person.
//!
//! A program that only has the driver as a shared library cannot read reports. So where the
//! environment asks for checks, each finding is written when it is made, once per place, and the end
//! of the process has a summary. Leaks wait for that end, where those of one place are told together.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use cuda_sys::CUresult;
use parking_lot::Mutex;

use super::console;
use super::report::{Report, ReportKind};

static IS_ON: AtomicBool = AtomicBool::new(false);

static FOUND: Mutex<Option<Found>> = Mutex::new(None);

/// The number of places whose findings are written; those of others are only counted.
const MAX_PLACES: usize = 100;

/// The findings of this process, written or not.
#[derive(Default)]
struct Found {
    findings: u64,
    lost_devices: u64,
    places: HashMap<Place, u64>,
}

/// The place of a finding: others at the same one are the same fault.
#[derive(PartialEq, Eq, Hash)]
struct Place {
    kind: ReportKind,
    /// The kernel, or the operation that is none.
    operation: String,
    ptx_line: u32,
    /// The allocation, for operations that have no lines.
    allocation: u64,
}

impl Place {
    fn of(report: &Report) -> Place {
        let actor = report.actor.as_ref();
        let kernel = actor.and_then(|actor| actor.kernel.as_ref());
        let allocation = report.allocation.as_ref().map_or(0, |allocation| allocation.id);
        Place {
            kind: report.kind,
            operation: match (kernel, actor) {
                (Some(kernel), _) => kernel.clone(),
                (None, Some(actor)) => actor.operation.clone(),
                (None, None) => String::new(),
            },
            ptx_line: actor.map_or(0, |actor| actor.ptx_line),
            allocation: if kernel.is_some() { 0 } else { allocation },
        }
    }
}

/// Switches printing on or off: before there are devices.
pub fn print_reports(are_printed: bool) {
    IS_ON.store(are_printed, Ordering::Relaxed);
}

/// Whether a person is told of what checks find.
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Counts a finding, and writes it if it is the first one at its place.
pub(crate) fn print(report: &Report) {
    // They are told together, at the end.
    if report.kind == ReportKind::Leak {
        return;
    }
    let mut found = FOUND.lock();
    let found_so_far = found.get_or_insert_default();
    found_so_far.findings += 1;
    if !is_on() {
        return;
    }
    let times = found_so_far.places.entry(Place::of(report)).or_default();
    *times += 1;
    let is_first = *times == 1;
    let places = found_so_far.places.len();
    drop(found);
    if is_first && places <= MAX_PLACES {
        console::say(in_lines(report));
    }
    if is_first && places == MAX_PLACES {
        console::say(format_args!("findings at more than {MAX_PLACES} places are only counted"));
    }
}

/// Counts the loss of a device by a fault that is no report: a trap, an assertion that failed, a
/// wild access. Tells of it where checks are told of.
pub fn device_lost(ordinal: u32, code: CUresult, text: &str) {
    FOUND.lock().get_or_insert_default().lost_devices += 1;
    let text = format_args!("device {ordinal} is lost ({code}): {text}");
    match is_on() {
        true => console::say(text),
        false => console::notice(text),
    }
}

/// A report with its parts one below the other.
fn in_lines(report: &Report) -> String {
    let mut text = report.kind.title().to_owned();
    let mut part = |part: &dyn std::fmt::Display| {
        // Writing to a string does not fail.
        let _ = write!(text, "\n    {part}");
    };
    if let Some(actor) = &report.actor {
        part(actor);
    }
    if let Some(address) = report.address {
        part(&format_args!("{} bytes at {address:#x}", report.bytes));
    }
    if let Some(allocation) = &report.allocation {
        part(allocation);
    }
    if let Some(other) = &report.other {
        part(&format_args!("the other side: {other}"));
    }
    if !report.detail.is_empty() {
        part(&report.detail);
    }
    text
}

/// Adds the summary to a text, if a person is told of findings. Whether anything was found, in this
/// process and ever.
pub(crate) fn summarise(text: &mut String, leaks: usize) -> bool {
    let found = FOUND.lock().take().unwrap_or_default();
    let Found { findings, lost_devices, places } = found;
    let is_clean = findings == 0 && lost_devices == 0 && leaks == 0;
    if is_on() {
        let mut parts = Vec::new();
        if findings > 0 {
            let places = counted(places.len() as u64, "place");
            parts.push(format!("{} at {places}", counted(findings, "fault")));
        }
        if lost_devices > 0 {
            parts.push(counted(lost_devices, "lost device"));
        }
        if leaks > 0 {
            parts.push(counted(leaks as u64, "leak"));
        }
        let what = if is_clean { "nothing".to_owned() } else { parts.join(", ") };
        // Writing to a string does not fail.
        let _ = writeln!(text, "cuda-sim: checks found {what}");
    }
    !is_clean
}

/// A number of things, with an `s` for several.
fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::super::findings::described;
    use super::*;

    fn report(kernel: &str, ptx_line: u32, address: u64) -> Report {
        let mut actor = described("write", None, ptx_line);
        actor.kernel = Some(kernel.to_owned());
        Report {
            kind: ReportKind::OutOfBounds,
            actor: Some(actor),
            address: Some(address),
            bytes: 4,
            allocation: None,
            other: None,
            made: None,
            detail: "nothing is allocated near".to_owned(),
        }
    }

    #[test]
    fn findings_of_one_line_of_a_kernel_are_at_one_place() {
        let places = [("k", 5, 0), ("k", 5, 4), ("k", 6, 0), ("other", 5, 0)];
        let [first, same, line, kernel] =
            places.map(|(kernel, line, address)| Place::of(&report(kernel, line, address)));
        assert!(first == same && first != line && first != kernel);
    }

    #[test]
    fn a_report_for_a_person_has_a_line_for_each_part() {
        let expected = "access out of bounds\n    write by kernel `k`, PTX line 5\n    4 bytes at \
                        0x64\n    nothing is allocated near";
        assert_eq!(in_lines(&report("k", 5, 100)), expected);
    }
}
