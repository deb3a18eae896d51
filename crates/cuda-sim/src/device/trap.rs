//! Wild accesses of kernels to device memory: a page fault becomes a sticky error.
//!
//! Without checks, a kernel's accesses inside its device's window are not looked at. Where nothing
//! is allocated the window has no memory behind it, so the processor faults. The handler then puts
//! memory there, loses the device, and lets the kernel go on until it sees that it is interrupted:
//! nothing unwinds through generated code. All other faults go to who handled them before.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Once;
use std::sync::OnceLock;

use cuda_sys::CUresult;
use libc::{PROT_READ, PROT_WRITE, SA_ONSTACK, SA_SIGINFO, c_int, c_void, siginfo_t};

use super::platform::platform;
use crate::queue::Health;

/// What the calling thread runs, as the handler needs it.
#[derive(Clone, Copy)]
struct Guarded {
    health: Option<&'static Health>,
    fault: u64,
}

const IDLE: Guarded = Guarded { health: None, fault: 0 };

thread_local! {
    static GUARDED: Cell<Guarded> = const { Cell::new(IDLE) };
}

static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Runs kernel code of the device with that health; returns its result and the first address of
/// device memory that it touched where there is none.
pub(super) fn guarded<R>(health: &'static Health, run: impl FnOnce() -> R) -> (R, Option<u64>) {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(install);
    let outer = GUARDED.replace(Guarded { health: Some(health), fault: 0 });
    let result = run();
    let fault = GUARDED.replace(outer).fault;
    (result, (fault != 0).then_some(fault))
}

fn install() {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zero is a valid `sigaction`, and the handler has the type that SA_SIGINFO wants.
    let installed = unsafe {
        let action = action.assume_init_mut();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGSEGV, ptr::null(), previous.as_mut_ptr()) == 0 && {
            let _ = PREVIOUS.set(previous.assume_init());
            libc::sigaction(libc::SIGSEGV, action, ptr::null_mut()) == 0
        }
    };
    if !installed {
        tracing::warn!("no handler for page faults: a wild access of a kernel ends the process");
    }
}

extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid `siginfo_t`, whose fault address SIGSEGV fills in.
    let address = unsafe { (*info).si_addr() } as u64;
    if !put_memory_at(address) {
        // SAFETY: these are the handler's own arguments.
        unsafe { hand_on(signal, info, context) };
    }
}

/// Uses nothing that a signal handler may not: cells without destructors, atomics, what never
/// changes once it is there, `mprotect`.
fn put_memory_at(address: u64) -> bool {
    const PAGE: u64 = 4096;
    let Ok(guarded) = GUARDED.try_with(Cell::get) else { return false };
    let Some(health) = guarded.health else { return false };
    if !platform().is_ok_and(|platform| platform.device_at(address).is_some()) {
        return false;
    }
    let page = ptr::with_exposed_provenance_mut((address - address % PAGE) as usize);
    // SAFETY: the page lies in a device's window, where the driver alone decides what is there.
    if unsafe { libc::mprotect(page, PAGE as usize, PROT_READ | PROT_WRITE) } != 0 {
        return false;
    }
    health.lose(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    if guarded.fault == 0 {
        GUARDED.set(Guarded { fault: address, ..guarded });
    }
    true
}

/// Does what would have happened without this module.
///
/// # Safety
/// The arguments are those that the kernel passed to the handler.
unsafe fn hand_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let previous = PREVIOUS.get().filter(|previous| {
        previous.sa_sigaction != libc::SIG_DFL && previous.sa_sigaction != libc::SIG_IGN
    });
    let Some(previous) = previous else {
        // SAFETY: with the default action back in place, the access that faulted is made again
        // when the handler returns, and ends the process in the usual way.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    };
    // SAFETY: a handler was installed under these flags, which say what type it has.
    unsafe {
        if previous.sa_flags & SA_SIGINFO != 0 {
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                std::mem::transmute(previous.sa_sigaction);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(c_int) = std::mem::transmute(previous.sa_sigaction);
            handler(signal);
        }
    }
}
