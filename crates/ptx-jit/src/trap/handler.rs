//! The handler for page faults, and how it stands in for the one that was there before.
//!
//! It takes what an attempt is for: an access in a device's window, or in some attempts any. For
//! everything else happens what would have happened without it: the earlier handler is called under
//! its own mask and flags, which this one has taken over, or the earlier action is taken.
//!
//! A program may set a handler of its own later. Where that is noticed ([`stand_in`]), this one is
//! put on top again, as another function: if the program's handler calls the one that it found, the
//! call goes further down, and never in a circle.
//!
//! Nothing here uses what a signal handler may not: it reads atomics and what never changes once it
//! is there, and makes system calls.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{
    SA_NODEFER, SA_ONSTACK, SA_RESETHAND, SA_RESTART, SA_SIGINFO, SIG_DFL, SIG_IGN, SIGSEGV,
    siginfo_t,
};
use parking_lot::Mutex;

use super::landing::Landing;
use super::{threads, windows};

type SignalAction = libc::sigaction;
type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// One function for each time that the handler is put on top of another one.
const LAYERS: [Handler; 4] = [handle::<0>, handle::<1>, handle::<2>, handle::<3>];

/// The action that each of them was put on top of. Never freed: a handler may be reading it.
static BENEATH: [AtomicPtr<SignalAction>; LAYERS.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; LAYERS.len()];

/// The number of layers in use.
static HEIGHT: Mutex<usize> = Mutex::new(0);

/// Makes this the first handler for page faults, also if the program has set one meanwhile.
pub fn stand_in() {
    if !is_on_top() {
        tracing::warn!("no handler for page faults: a wild access of a kernel ends the process");
    }
}

/// Whether the handler is on top of all others, or could be put there.
fn is_on_top() -> bool {
    let mut height = HEIGHT.lock();
    let Some(found) = current() else { return false };
    let own = LAYERS.iter().position(|&layer| found.sa_sigaction == layer as usize);
    if let Some(own) = own {
        // Who had put something on top of it may have taken that away again.
        *height = own + 1;
        return true;
    }
    let Some(&layer) = LAYERS.get(*height) else { return false };
    let placed = place(layer, &BENEATH[*height], found);
    *height += usize::from(placed);
    placed
}

fn current() -> Option<SignalAction> {
    let mut action = MaybeUninit::<SignalAction>::uninit();
    // SAFETY: the action is written if the call succeeds, and nothing is changed.
    unsafe {
        (libc::sigaction(SIGSEGV, ptr::null(), action.as_mut_ptr()) == 0)
            .then(|| action.assume_init())
    }
}

/// Puts a handler on top of an action. False if the system does not let it.
fn place(handler: Handler, beneath: &AtomicPtr<SignalAction>, found: SignalAction) -> bool {
    let mut own = found;
    own.sa_sigaction = handler as usize;
    own.sa_flags = if is_handler(&found) {
        found.sa_flags & (SA_NODEFER | SA_RESTART | SA_ONSTACK) | SA_SIGINFO
    } else {
        // SAFETY: the mask is a set of signals.
        unsafe { libc::sigemptyset(&mut own.sa_mask) };
        SA_ONSTACK | SA_SIGINFO
    };
    beneath.store(Box::into_raw(Box::new(found)), Ordering::Release);
    // SAFETY: the handler has the type that SA_SIGINFO wants, and finds what it stands on.
    unsafe { libc::sigaction(SIGSEGV, &own, ptr::null_mut()) == 0 }
}

fn is_handler(action: &SignalAction) -> bool {
    action.sa_sigaction != SIG_DFL && action.sa_sigaction != SIG_IGN
}

extern "C" fn handle<const LAYER: usize>(
    signal: c_int,
    info: *mut siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the system passes a valid `siginfo_t`.
    let was_sent = unsafe { (*info).si_code } <= 0;
    if !was_sent {
        // SAFETY: the system's own page faults have an address.
        let address = unsafe { (*info).si_addr() } as u64;
        let is_taken = |landing: &&Landing| landing.is_anywhere() || windows::contain(address);
        if let Some(landing) = threads::landing().filter(is_taken) {
            // SAFETY: the context is the handler's own, and the landing is the thread's.
            unsafe { landing.go_on(context, address) };
            return;
        }
    }
    // SAFETY: the arguments are the handler's own.
    unsafe { hand_on(&BENEATH[LAYER], was_sent, (signal, info, context)) };
}

/// Hands a signal on: does what would have happened without this module.
///
/// # Safety
/// The arguments are those that the system passed to the handler.
unsafe fn hand_on(
    beneath: &AtomicPtr<SignalAction>,
    was_sent: bool,
    (signal, info, context): (c_int, *mut siginfo_t, *mut c_void),
) {
    let place = beneath.load(Ordering::Acquire);
    // SAFETY: what is put there is never freed.
    let Some(action) = (unsafe { place.as_ref() }) else { return end(signal, was_sent) };
    match action.sa_sigaction {
        // What is not sent cannot be ignored: the system ends the process.
        SIG_IGN if was_sent => {}
        SIG_DFL | SIG_IGN => end(signal, was_sent),
        _ if action.sa_flags & SA_RESETHAND != 0 && !is_taken(beneath, place) => {
            end(signal, was_sent);
        }
        // SAFETY: a handler was installed under these flags, which say what type it has.
        handler => unsafe {
            if action.sa_flags & SA_SIGINFO != 0 {
                let handler = std::mem::transmute::<usize, Handler>(handler);
                handler(signal, info, context);
            } else {
                let handler = std::mem::transmute::<usize, extern "C" fn(c_int)>(handler);
                handler(signal);
            }
        },
    }
}

/// Takes a handler that is to run once, and leaves the default action in its place. False if
/// another thread was faster.
fn is_taken(beneath: &AtomicPtr<SignalAction>, action: *mut SignalAction) -> bool {
    beneath.compare_exchange(action, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// The default action: the process ends. An access that faulted is made again when the handler
/// returns, and does so in the usual way; what was sent is sent once more.
fn end(signal: c_int, was_sent: bool) {
    // SAFETY: both may be called in a signal handler.
    unsafe {
        libc::signal(signal, SIG_DFL);
        if was_sent {
            libc::raise(signal);
        }
    }
}
