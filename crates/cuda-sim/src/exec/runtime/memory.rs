//! What happens where an access is not known to be allowed, and what checked mode wants to know.

use crate::check::What;
use crate::exec::Access;
use crate::exec::runner::Runner;
use crate::exec::state::{Context, Thread};

const STRONG: u32 = 1 << 2;
const RELEASES: u32 = 1 << 3;
const HAS_VALUE: u32 = 1 << 4;
const BYTES: u32 = 8;

/// An access as one number, as native code hands it on; `has_value` if it hands on too what is
/// written.
pub(crate) fn describe_access(what: What, has_value: bool) -> u32 {
    let flag = |set: bool, bit: u32| if set { bit } else { 0 };
    what.bytes << BYTES
        | what.access as u32
        | flag(what.strong, STRONG)
        | flag(what.releases, RELEASES)
        | flag(has_value, HAS_VALUE)
}

fn described(what: u32) -> What {
    let access = match what & 3 {
        0 => Access::Read,
        1 => Access::Write,
        _ => Access::Atomic,
    };
    let has = |bit: u32| what & bit != 0;
    What { bytes: what >> BYTES, access, strong: has(STRONG), releases: has(RELEASES) }
}

/// Whether an access is refused; if so, the thread is stopped.
pub(super) unsafe extern "C" fn check(
    context: *const Context,
    thread: *const Thread,
    address: u64,
    what: u32,
    line: u32,
    value: u64,
) -> u32 {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let value = (what & HAS_VALUE != 0).then_some(value);
    match runner.check_access(thread, address, described(what), value, line) {
        Ok(()) => 0,
        Err(kind) => {
            runner.stop(thread, line, kind);
            1
        }
    }
}

/// Stops a thread that left its shared, local or parameter memory, or is misaligned in it.
pub(super) unsafe extern "C" fn deny(
    context: *const Context,
    thread: *const Thread,
    address: u64,
    what: u32,
    line: u32,
) {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let what = described(what);
    runner.stop(thread, line, runner.denied(thread, address, what, line));
}

/// A strong read or an atomic operation is done.
pub(super) unsafe extern "C" fn acquired(
    context: *const Context,
    thread: *const Thread,
    address: u64,
) {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let is_shared = runner.is_shared(address);
    runner.with_check(|check| check.acquired(address, is_shared, thread.linear));
}

/// A fence.
pub(super) unsafe extern "C" fn fence(context: *const Context, thread: *const Thread) {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    runner.with_check(|check| check.fence(thread.linear));
}

/// Arguments or results of a call were written to local memory.
pub(super) unsafe extern "C" fn passed(
    context: *const Context,
    thread: *const Thread,
    address: u64,
    bytes: u32,
) {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let start = address.wrapping_sub(thread.local as u64);
    let range = start..start.saturating_add(u64::from(bytes));
    runner.with_check(|check| check.passed(thread.linear, &range));
}
