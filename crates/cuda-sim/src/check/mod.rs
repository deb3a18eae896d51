//! Checked mode: what is wrong with a program although it runs.
//!
//! Off, it costs nothing: kernels are compiled without it, and all else is one look at whether it
//! is on. On, each access of a kernel asks first, and each copy and fill tells what it does:
//! - memory: `tracked` knows what is allocated and what was freed, and where in the program; where a
//!   stream's order says when that is, `ordered` does;
//! - initialisation: `shadow` knows which bytes somebody wrote; copies hand that on;
//! - races: `shadow` and `cells` know who accessed memory last. Two accesses are a race if one of
//!   them writes and nothing orders them: within a block, `threads`; between blocks of a launch,
//!   `flags`; between operations, `streams`;
//! - leaks: `leaks` looks at what is left when a context or the process ends.

mod block;
mod cells;
mod clock;
mod contents;
mod findings;
mod flags;
mod kept;
mod kinds;
mod leaks;
mod operation;
mod ordered;
mod own;
mod record;
mod report;
mod shadow;
mod silent;
mod site;
mod streams;
mod threads;
mod tracked;
mod transfer;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

pub(crate) use block::BlockCheck;
pub(crate) use contents::Contents;
pub use kept::{Kept, TellsKept};
pub(crate) use kept::{ask_at_the_end, keep_object};
pub use kinds::{CheckKinds, UnknownCheck};
pub(crate) use leaks::{context_ends, made, taken_back, tell_what_is_left};
pub(crate) use operation::Label;
pub(crate) use ordered::{begins, ends};
pub use report::{Actor, AllocationInfo, Report, ReportKind};
pub(crate) use report::{clear, reports};
pub use site::Site;
pub(crate) use streams::{StreamClock, host_saw_all};
pub(crate) use tracked::MemoryKind;
pub(crate) use transfer::{copying, filling, written};

static KINDS: AtomicU8 = AtomicU8::new(0);

/// Switches checks on: before there are devices.
pub(crate) fn enable(kinds: CheckKinds) {
    KINDS.store(kinds.bits(), Ordering::Release);
}

/// The checks that are on.
pub(crate) fn kinds() -> CheckKinds {
    CheckKinds::from_bits(KINDS.load(Ordering::Relaxed))
}

/// Whether any checks are on.
pub(crate) fn is_on() -> bool {
    KINDS.load(Ordering::Relaxed) != 0
}

/// The thread enters a call of the driver.
pub(crate) fn enter(function: &'static str) {
    if is_on() {
        site::enter(function);
    }
}

/// Memory has been allocated for a context.
pub(crate) fn allocated(range: Range<u64>, kind: MemoryKind, owner: u64) {
    if is_on() {
        tracked::allocated(range, kind, owner);
    }
}

/// Physical memory has been mapped.
pub(crate) fn mapped(range: Range<u64>, contents: &Arc<Contents>) {
    if is_on() {
        tracked::enter(Arc::new(tracked::Tracked::mapping(range, Arc::clone(contents))));
    }
}

/// Kernels only read the memory that starts there.
pub(crate) fn constant(start: u64) {
    if is_on()
        && let Some(tracked) = tracked::find(start)
    {
        tracked.set_constant();
    }
}

/// Memory that starts there has been freed.
pub(crate) fn freed(start: u64) {
    if is_on() {
        tracked::freed(start);
    }
}
