//! Accesses of devices' memory that may go wrong: a page fault becomes a value.
//!
//! Without checks, what a kernel touches inside its device's window is not looked at, and what a
//! copy touches may have been unmapped since. Where the window has no memory, or less access than
//! is asked for, the processor faults. [`attempt`] runs code that may do so. The signal handler
//! lets such code go no further: it goes back to where it was called, and the access is never made.
//! No page is opened for it, so it reaches nothing, and the next one is noticed as well.
//!
//! All other faults go to who handled them before (`handler`).

mod handler;
mod landing;
mod threads;
mod windows;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::thread;

use self::landing::Landing;

pub use self::handler::stand_in;
pub(crate) use self::landing::{NativeFunction, stack_pointer};
pub(crate) use self::threads::OwnSlot;
pub use self::windows::watch;

/// An access of a device's memory at an address where there is none, or where pages let nobody do
/// that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wild {
    /// The address.
    pub address: u64,
}

/// Runs code that may touch memory of devices, up to its end or to the first access of it that is
/// wild.
///
/// # Safety
/// Wherever `run` touches memory of a device, no function that it is in, itself included, has
/// anything left to drop or holds a lock: at a wild access all of them are left for good.
pub unsafe fn attempt<R>(run: impl FnOnce() -> R) -> Result<R, Wild> {
    // SAFETY: the caller lets `run` be left at any access of a device's memory.
    unsafe { attempt_with(Landing::default(), run) }
}

/// Runs code up to its end or to its first page fault at any address. It is for copies and the
/// like, which touch the program's own memory as well: that may have been unmapped behind the
/// driver's back.
///
/// # Safety
/// As [`attempt`], for memory of the program's too.
pub unsafe fn attempt_anywhere<R>(run: impl FnOnce() -> R) -> Result<R, Wild> {
    // SAFETY: the caller lets `run` be left at any access at all.
    unsafe { attempt_with(Landing::anywhere(), run) }
}

/// # Safety
/// As [`attempt`], wherever the landing takes wild accesses.
unsafe fn attempt_with<R>(landing: Landing, run: impl FnOnce() -> R) -> Result<R, Wild> {
    let enter = |function, argument| {
        let arguments = [argument, ptr::null_mut()];
        // SAFETY: `through` passes its function what that takes, which catches what unwinds, and
        // the stack in use is as free as for any call. The caller lets `run` be left.
        unsafe { OwnSlot::own().enter_with(landing, function, arguments, ptr::null_mut()) }
    };
    let mut result = None;
    let left = through(run, &mut result, enter).err();
    match (result, left) {
        (Some(Ok(result)), _) => Ok(result),
        (Some(Err(panic)), _) => resume_unwind(panic),
        (None, wild) => Err(wild.expect("what does not end was left")),
    }
}

/// Runs code on another stack, to its end.
///
/// # Safety
/// `top` is a multiple of 16 and the end of a stack on which nothing runs.
pub(crate) unsafe fn run_on<R>(top: *mut u8, run: impl FnOnce() -> R) -> R {
    let enter = |function, argument| {
        // SAFETY: `through` passes its function what that takes, the caller knows that nothing runs
        // on the stack, and nobody knows of the landing, so the code comes to its end.
        unsafe { landing::call(&Landing::default(), function, argument, ptr::null_mut(), top) };
    };
    let mut result = None;
    through(run, &mut result, enter);
    let result = result.expect("nobody leaves code at a landing that nobody knows");
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs a closure by way of `enter`, which calls a function with an argument. Returns what `enter`
/// returned.
fn through<R, F: FnOnce() -> R, T>(
    run: F,
    result: &mut Option<thread::Result<R>>,
    enter: impl FnOnce(NativeFunction, *mut u8) -> T,
) -> T {
    struct Call<'r, F, R> {
        run: Option<F>,
        result: &'r mut Option<thread::Result<R>>,
    }
    unsafe extern "C" fn body<R, F: FnOnce() -> R>(call: *mut u8, _: *mut u8) -> u32 {
        // SAFETY: it is the variable below, which nobody else touches until this returns.
        let call = unsafe { &mut *call.cast::<Call<'_, F, R>>() };
        if let Some(run) = call.run.take() {
            // Nothing unwinds from one stack to another.
            *call.result = Some(catch_unwind(AssertUnwindSafe(run)));
        }
        0
    }
    let mut call = Call { run: Some(run), result };
    enter(body::<R, F>, (&raw mut call).cast())
}

impl OwnSlot {
    /// Calls a function with two arguments, up to its end or to its first wild access, on the stack
    /// that ends at `top`; null is the stack that is in use.
    ///
    /// # Safety
    /// As [`attempt`]. The function may be called with the arguments, unwinds never, and this is
    /// the calling thread's place. `top` is null, or a multiple of 16 and the end of a stack on
    /// which nothing runs.
    pub(crate) unsafe fn enter(
        &self,
        function: NativeFunction,
        [first, second]: [*mut u8; 2],
        top: *mut u8,
    ) -> Result<u32, Wild> {
        // SAFETY: this function asks the same of its caller.
        unsafe { self.enter_with(Landing::default(), function, [first, second], top) }
    }

    /// # Safety
    /// As [`OwnSlot::enter`], wherever the landing takes wild accesses.
    unsafe fn enter_with(
        &self,
        landing: Landing,
        function: NativeFunction,
        [first, second]: [*mut u8; 2],
        top: *mut u8,
    ) -> Result<u32, Wild> {
        let outer = self.expect(&raw const landing);
        // SAFETY: the caller knows that the function takes the arguments and that the stack is free.
        let result = unsafe { landing::call(&landing, function, first, second, top) };
        self.expect(outer);
        landing.wild().map_or(Ok(result), Err)
    }
}

#[cfg(test)]
mod tests;
