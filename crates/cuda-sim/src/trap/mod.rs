//! Accesses of devices' memory that may go wrong: a page fault becomes a value.
//!
//! Without checks, what a kernel touches inside its device's window is not looked at, and what a
//! copy touches may have been unmapped since. Where the window has no memory, or less access than
//! is asked for, the processor faults. [`attempt`] runs code that may do so. The signal handler
//! lets such code go no further: it goes back to where it was called, and the access is never made.
//! No page is opened for it, so it reaches nothing, and the next one is noticed as well.
//!
//! All other faults go to who handled them before ([`handler`]).

mod handler;
mod landing;
mod threads;
mod windows;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::thread;

use self::landing::Landing;

pub(crate) use self::handler::stand_in;
pub(crate) use self::landing::stack_pointer;
pub(crate) use self::windows::watch;

/// An access of a device's memory at an address where there is none, or where pages let nobody do
/// that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wild {
    pub(crate) address: u64,
}

/// Runs code that may touch memory of devices, up to its end or to the first access of it that is
/// wild.
///
/// # Safety
/// Wherever `run` touches memory of a device, no function that it is in, itself included, has
/// anything left to drop or holds a lock: at a wild access all of them are left for good.
pub(crate) unsafe fn attempt<R>(run: impl FnOnce() -> R) -> Result<R, Wild> {
    // SAFETY: on the stack that is in use, and the rest is the caller's promise.
    unsafe { attempt_on(ptr::null_mut(), run) }
}

/// Does so wherever the access is: for copies and the like, which touch the program's own memory as
/// well. That may have been unmapped behind the driver's back.
///
/// # Safety
/// As [`attempt`], for memory of the program's too.
pub(crate) unsafe fn attempt_anywhere<R>(run: impl FnOnce() -> R) -> Result<R, Wild> {
    // SAFETY: as for an attempt.
    unsafe { attempt_with(Landing::anywhere(), ptr::null_mut(), run) }
}

/// Does so on another stack, which ends at `top`; null is the stack that is in use.
///
/// # Safety
/// As [`attempt`], and `top` is null, or a multiple of 16 and the end of a stack on which nothing
/// runs.
pub(crate) unsafe fn attempt_on<R>(top: *mut u8, run: impl FnOnce() -> R) -> Result<R, Wild> {
    // SAFETY: the caller promises that the stack is free, and that `run` can be left at any access.
    unsafe { attempt_with(Landing::default(), top, run) }
}

/// # Safety
/// As [`attempt_on`], wherever the landing takes wild accesses.
unsafe fn attempt_with<R>(
    landing: Landing,
    top: *mut u8,
    run: impl FnOnce() -> R,
) -> Result<R, Wild> {
    threads::with_own(|thread| {
        let outer = thread.expect(&raw const landing);
        // SAFETY: the stack is free and `run` can be left at any access, as this function's caller
        // promises.
        let result = unsafe { call(&landing, top, run) };
        thread.expect(outer);
        match result {
            Some(result) => Ok(result.unwrap_or_else(|panic| resume_unwind(panic))),
            None => Err(Wild { address: landing.address() }),
        }
    })
}

/// Runs code on another stack, to its end.
///
/// # Safety
/// `top` is a multiple of 16 and the end of a stack on which nothing runs.
pub(crate) unsafe fn run_on<R>(top: *mut u8, run: impl FnOnce() -> R) -> R {
    // SAFETY: the stack is free, as the caller promises; nobody knows of the landing, so the code is
    // never left.
    let result = unsafe { call(&Landing::default(), top, run) };
    let result = result.expect("nobody leaves code at a landing that nobody knows");
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// What is called, and then what came of it.
enum Call<F, R> {
    Coming(F),
    Running,
    Ended(thread::Result<R>),
}

/// The result of `run`, or its panic; `None` if it was left at the landing.
///
/// # Safety
/// `top` is as for [`attempt_on`], and if others know of the landing, so is `run`.
unsafe fn call<R, F: FnOnce() -> R>(
    landing: &Landing,
    top: *mut u8,
    run: F,
) -> Option<thread::Result<R>> {
    unsafe extern "C" fn body<R, F: FnOnce() -> R>(call: *mut u8) {
        // SAFETY: it is the caller's below, who does nothing meanwhile.
        let call = unsafe { &mut *call.cast::<Call<F, R>>() };
        if let Call::Coming(run) = std::mem::replace(call, Call::Running) {
            // Nothing unwinds from one stack to another.
            *call = Call::Ended(catch_unwind(AssertUnwindSafe(run)));
        }
    }
    let mut call = Call::Coming(run);
    // SAFETY: the function takes what it is given; the rest is the caller's promise.
    unsafe { landing::call(landing, body::<R, F>, (&raw mut call).cast(), top) };
    match call {
        Call::Ended(result) => Some(result),
        Call::Coming(_) | Call::Running => None,
    }
}

#[cfg(test)]
mod tests;
