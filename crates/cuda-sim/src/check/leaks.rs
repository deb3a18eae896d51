//! What was not given back when a context or the process ends.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::api_call::ApiCall;
use super::cached::{self, CachedResources};
use super::enabled;
use super::report::{self, Report, ReportKind};
use super::tracked::{self, Tracked};
use crate::config::CheckKinds;

/// The kinds of living objects in words, and the calls that made them, by handle.
static MADE: Mutex<Option<HashMap<u64, (&'static str, ApiCall)>>> = Mutex::new(None);

/// An object has been made, of that kind in words.
pub(crate) fn made(what: &'static str, handle: u64) {
    if enabled::kinds().has(CheckKinds::LEAKS) {
        let mut made = MADE.lock();
        made.get_or_insert_default().insert(handle, (what, ApiCall::with_backtrace()));
    }
}

/// An object has been destroyed.
pub(crate) fn taken_back(handle: u64) {
    if enabled::kinds().has(CheckKinds::LEAKS) {
        forget(handle);
        cached::destroyed(handle);
    }
}

/// A context ends: its memory, and the objects that still belong to it, are leaks.
pub(crate) fn context_ends(owner: u64, handles: impl IntoIterator<Item = u64>) {
    if !enabled::kinds().has(CheckKinds::LEAKS) {
        return;
    }
    tracked::owned_by(owner).iter().for_each(|tracked| report::file(of_memory(tracked)));
    for handle in handles {
        if let Some((what, call)) = forget(handle) {
            report::file(of_object(what, &call));
        }
    }
}

/// Adds to a text what the program has not heard of when the process ends, and what it has not given
/// back.
pub(crate) fn tell_what_is_left(text: &mut String) {
    let remarks = report::unread_remarks();
    tell(text, "findings were read by nobody", &remarks);
    if !enabled::kinds().has(CheckKinds::LEAKS) {
        return;
    }
    let kept = CachedResources::ask();
    let mut memory = tracked::of_the_program();
    memory.retain(|tracked| !kept.has_memory(&tracked.range));
    let mut made = MADE.lock().take().unwrap_or_default();
    made.retain(|handle, _| !kept.has_object(*handle));
    let mut objects: Vec<_> = made.into_values().collect();
    objects.sort_by_key(|(_, call)| call.call);
    let memory = memory.iter().map(|tracked| of_memory(tracked));
    let objects = objects.iter().map(|(what, call)| of_object(what, call));
    tell(text, "objects were not given back", &memory.chain(objects).collect::<Vec<_>>());
}

fn tell(text: &mut String, what: &str, reports: &[Report]) {
    const MAX_LISTED: usize = 10;
    if reports.is_empty() {
        return;
    }
    text.push_str(&format!("cuda-sim: {} {what}:\n", reports.len()));
    for report in reports.iter().take(MAX_LISTED) {
        text.push_str(&format!("  {report}\n"));
    }
    if reports.len() > MAX_LISTED {
        text.push_str(&format!("  and {} more\n", reports.len() - MAX_LISTED));
    }
}

fn forget(handle: u64) -> Option<(&'static str, ApiCall)> {
    MADE.lock().as_mut()?.remove(&handle)
}

fn of_memory(tracked: &Tracked) -> Report {
    let address = tracked.range.start;
    Report {
        bytes: tracked.range.end - address,
        address: Some(address),
        allocation: Some(tracked.info(address)),
        ..leak(String::new())
    }
}

fn of_object(what: &str, made: &ApiCall) -> Report {
    leak(format!("{what} made by {made}"))
}

fn leak(detail: String) -> Report {
    Report {
        kind: ReportKind::Leak,
        actor: None,
        address: None,
        bytes: 0,
        allocation: None,
        other: None,
        detail,
    }
}
