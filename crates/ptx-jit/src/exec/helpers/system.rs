//! What kernels ask of the system: printing, failing, time.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::abi::{AccessKind, KernelContext, ThreadRecord};
use crate::exec::fault::{Assertion, FaultKind};
use crate::exec::runner::Runner;

pub(super) unsafe extern "C" fn trap(
    context: *const KernelContext,
    thread: *const ThreadRecord,
    line: u32,
) {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    runner.stop(thread, line, FaultKind::Trap);
}

pub(super) unsafe extern "C" fn stack_overflow(
    context: *const KernelContext,
    thread: *const ThreadRecord,
    line: u32,
) {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    runner.stop(thread, line, FaultKind::StackOverflow { local: runner.local_bytes() });
}

/// Returns 1 if the launch is to end; the thread is stopped then.
pub(super) unsafe extern "C" fn poll(
    context: *const KernelContext,
    thread: *const ThreadRecord,
) -> u32 {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let interrupted = runner.is_interrupted();
    if interrupted {
        runner.stop(thread, 0, FaultKind::Interrupted);
    }
    u32::from(interrupted)
}

/// `vprintf`: the number of arguments printed, or -1 where the thread was stopped.
pub(super) unsafe extern "C" fn print(
    context: *const KernelContext,
    thread: *const ThreadRecord,
    format: u64,
    arguments: u64,
    line: u32,
) -> i32 {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    match runner.print(thread, format, arguments) {
        Ok(count) => count,
        Err(kind) => {
            runner.stop(thread, line, kind);
            -1
        }
    }
}

/// `malloc`: an address, or 0.
pub(super) unsafe extern "C" fn allocate(context: *const KernelContext, bytes: u64) -> u64 {
    // SAFETY: native code hands on what it was called with.
    unsafe { Runner::of(context) }.allocate(bytes)
}

/// `free`: whether the thread was stopped.
pub(super) unsafe extern "C" fn release(
    context: *const KernelContext,
    thread: *const ThreadRecord,
    address: u64,
    line: u32,
) -> u32 {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let wild = address != 0 && !runner.release(address);
    if wild {
        let access = AccessKind::Write;
        runner.stop(thread, line, FaultKind::IllegalAddress { address, bytes: 1, access });
    }
    u32::from(wild)
}

/// `__assertfail`.
pub(super) unsafe extern "C" fn assert_fail(
    context: *const KernelContext,
    thread: *const ThreadRecord,
    message: u64,
    file: u64,
    source_line: u32,
    function: u64,
    line: u32,
) {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let [message, file, function] =
        [message, file, function].map(|address| runner.text(thread, address).unwrap_or_default());
    let assertion = Assertion { message, file, line: source_line, function };
    runner.stop(thread, line, FaultKind::Assert(Box::new(assertion)));
}

/// A counter that goes up with time: nanoseconds since the first look.
pub(super) extern "C" fn clock() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}

/// Nanoseconds since 1970.
pub(super) extern "C" fn global_timer() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}
