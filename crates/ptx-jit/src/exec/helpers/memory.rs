//! What happens where an access is not known to be allowed, and what checked mode wants to know.

use ptx::CopyGroup;

use crate::abi::{AccessInfo, COMMIT, KernelContext, ThreadRecord};
use crate::exec::runner::Runner;

/// Checks an access. Returns 1 if it is refused, and the thread is stopped.
pub(super) unsafe extern "C" fn check(
    context: *const KernelContext,
    thread: *const ThreadRecord,
    address: u64,
    packed: u32,
    line: u32,
    value: u64,
) -> u32 {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let (access, has_value) = AccessInfo::unpacked(packed);
    match runner.check_access(thread, address, access, has_value.then_some(value), line) {
        Ok(()) => 0,
        Err(kind) => {
            runner.stop(thread, line, kind);
            1
        }
    }
}

/// Stops a thread that left its shared, local or parameter memory, or is misaligned in it.
pub(super) unsafe extern "C" fn deny(
    context: *const KernelContext,
    thread: *const ThreadRecord,
    address: u64,
    packed: u32,
    line: u32,
) {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let (access, _) = AccessInfo::unpacked(packed);
    runner.stop(thread, line, runner.denied(thread, address, access, line));
}

/// Tells the checker that a strong read or an atomic operation is done.
pub(super) unsafe extern "C" fn acquired(
    context: *const KernelContext,
    thread: *const ThreadRecord,
    address: u64,
) {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let is_shared = runner.is_shared(address);
    runner.with_check(|check| check.acquired(address, is_shared, thread.linear));
}

/// Tells the checker of a fence.
pub(super) unsafe extern "C" fn fence(context: *const KernelContext, thread: *const ThreadRecord) {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    runner.with_check(|check| check.fence(thread.linear));
}

/// Tells the checker that a thread commits its copies, or waits for them.
pub(super) unsafe extern "C" fn copy_group(
    context: *const KernelContext,
    thread: *const ThreadRecord,
    step: u32,
) {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let step = match step {
        COMMIT => CopyGroup::Commit,
        pending => CopyGroup::Wait { pending },
    };
    runner.with_check(|check| check.copy_group(thread.linear, step));
}

/// Tells the checker that arguments or results of a call were written to local memory.
pub(super) unsafe extern "C" fn passed(
    context: *const KernelContext,
    thread: *const ThreadRecord,
    address: u64,
    bytes: u32,
) {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let start = address.wrapping_sub(thread.local as u64);
    let range = start..start.saturating_add(u64::from(bytes));
    runner.with_check(|check| check.passed(thread.linear, &range));
}
