//! Checked mode of the software driver: what is wrong with a program although it runs.
//!
//! Off, it costs nothing: kernels are compiled without it, and all else is one look at whether it
//! is on. On, each access of a kernel asks first, and each copy and fill tells what it does:
//! - memory: `tracked` knows what is allocated and what was freed, and where in the program; where a
//!   stream's order says when that is, `stream_ordered` does;
//! - initialisation: `shadow` knows which bytes somebody wrote; copies hand that on;
//! - races: `shadow` and `cells` know who accessed memory last. Two accesses are a race if one of
//!   them writes and nothing orders them: within a block, `threads`; between blocks of a launch,
//!   `flags`; between operations, `streams`;
//! - leaks: `leaks` looks at what is left when a context or the process ends.
//!
//! The crate `cuda-sim` is the driver that asks and tells.

// Layers, the top one first; a module imports only from lines below its own.
//
//   stream_ordered
//   transfer, leaks
//   block
//   allocations, leak_groups, cached, order, findings
//   operation, threads
//   flags, silent, streams
//   known, vector_clock, tracked
//   contents, async_copies
//   initialized_bits, enabled, shadow
//   check_kinds, cells
//   record, filed
//   printed
//   report, console
//   api_call
mod allocations;
mod api_call;
mod async_copies;
mod block;
mod cached;
mod cells;
mod check_kinds;
pub mod console;
mod contents;
mod enabled;
mod filed;
mod findings;
mod flags;
mod initialized_bits;
mod known;
mod leak_groups;
mod leaks;
mod operation;
mod order;
mod printed;
mod record;
mod report;
mod shadow;
mod silent;
mod stream_ordered;
mod streams;
mod threads;
mod tracked;
mod transfer;
mod vector_clock;

use std::ops::Range;
use std::sync::Arc;

pub use api_call::ApiCall;
pub use block::BlockCheck;
pub use cached::{CacheLister, CachedResource, ask_at_the_end, keep_object};
pub use check_kinds::{CheckKinds, UnknownCheck};
pub use contents::Contents;
pub use enabled::{enable, is_on, kinds};
pub use filed::{clear, reports};
pub use leaks::{context_ends, made, taken_back, tell_what_is_left};
pub use operation::{CheckedOperation, Label};
pub use printed::{device_lost, is_on as prints, print_reports};
pub use report::{Actor, AllocationInfo, Report, ReportKind};
pub use stream_ordered::{ComingAllocation, ComingFree};
pub use streams::{StreamClock, host_saw_all};
pub use tracked::MemoryKind;
pub use transfer::{copying, filling, written};

/// The thread enters a call of the driver.
pub fn enter(function: &'static str) {
    if is_on() {
        api_call::enter(function);
    }
}

/// Memory has been allocated for a context.
pub fn allocated(range: Range<u64>, kind: MemoryKind, owner: u64) {
    if is_on() {
        tracked::allocated(range, kind, owner);
    }
}

/// Physical memory has been mapped.
pub fn mapped(range: Range<u64>, contents: &Arc<Contents>) {
    if is_on() {
        tracked::enter(Arc::new(tracked::Tracked::mapping(range, Arc::clone(contents))));
    }
}

/// Kernels only read the memory that starts there.
pub fn constant(start: u64) {
    if is_on()
        && let Some(tracked) = tracked::find(start)
    {
        tracked.set_constant();
    }
}

/// Memory that starts there has been freed.
pub fn freed(start: u64) {
    if is_on() {
        tracked::freed(start);
    }
}
