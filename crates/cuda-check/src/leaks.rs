//! What was not given back when a context or the process ends.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::api_call::ApiCall;
use super::cached::{self, CachedResources};
use super::check_kinds::CheckKinds;
use super::report::{Report, ReportKind};
use super::tracked::{self, Tracked};
use super::{enabled, filed, leak_groups, printed};

/// The kinds of living objects in words, and the calls that made them, by handle.
static MADE: Mutex<Option<HashMap<u64, (&'static str, ApiCall)>>> = Mutex::new(None);

/// An object has been made, of that kind in words.
pub fn made(what: &'static str, handle: u64) {
    if enabled::kinds().has(CheckKinds::LEAKS) {
        let mut made = MADE.lock();
        made.get_or_insert_default().insert(handle, (what, ApiCall::with_backtrace()));
    }
}

/// An object has been destroyed.
pub fn taken_back(handle: u64) {
    if enabled::kinds().has(CheckKinds::LEAKS) {
        forget(handle);
        cached::destroyed(handle);
    }
}

/// A context ends: its memory, and the objects that still belong to it, are leaks.
pub fn context_ends(owner: u64, handles: impl IntoIterator<Item = u64>) {
    if !enabled::kinds().has(CheckKinds::LEAKS) {
        return;
    }
    tracked::owned_by(owner).iter().for_each(|tracked| filed::file(of_memory(tracked)));
    for handle in handles {
        if let Some((what, call)) = forget(handle) {
            filed::file(of_object(what, &call));
        }
    }
}

/// Adds to a text what the program has not heard of when the process ends, what it has not given
/// back, and a summary if a person is told of findings. Whether checks found anything in the process.
pub fn tell_what_is_left(text: &mut String) -> bool {
    let remarks = filed::unread_remarks();
    let remarks: Vec<_> = remarks.iter().map(ToString::to_string).collect();
    tell(text, remarks.len(), "findings were read by nobody", &remarks);
    let leaks = leaks_at_the_end();
    if !leaks.is_empty() {
        tell(text, leaks.len(), "objects were not given back", &leak_groups::describe(&leaks));
        text.push_str("  (CUDA_SIM_CHECK=memory,init,shared,global,streams looks for no leaks)\n");
    }
    printed::summarise(text, leaks.len())
}

/// All leaks that nobody has heard of, now that the process ends.
fn leaks_at_the_end() -> Vec<Report> {
    if !enabled::kinds().has(CheckKinds::LEAKS) {
        return Vec::new();
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
    let mut leaks = filed::leaks_to_tell();
    leaks.extend(memory.chain(objects));
    leaks
}

fn tell(text: &mut String, count: usize, what: &str, lines: &[String]) {
    const MAX_LISTED: usize = 10;
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("cuda-sim: {count} {what}:\n"));
    for line in lines.iter().take(MAX_LISTED) {
        text.push_str(&format!("  {line}\n"));
    }
    if lines.len() > MAX_LISTED {
        text.push_str(&format!("  and {} more lines\n", lines.len() - MAX_LISTED));
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
    Report { made: Some(made.clone()), ..leak(what.to_owned()) }
}

fn leak(detail: String) -> Report {
    Report {
        kind: ReportKind::Leak,
        actor: None,
        address: None,
        bytes: 0,
        allocation: None,
        other: None,
        made: None,
        detail,
    }
}
