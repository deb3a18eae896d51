//! Which threads make attempts, as a signal handler may read it.
//!
//! The handler does not ask thread-local storage: in a library that was loaded late, a thread's
//! first look at it allocates memory. It looks for the thread's number in a list that only grows.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use super::handler;
use super::landing::Landing;

/// The number of no thread.
const NOBODY: i32 = 0;

static THREADS: AtomicPtr<ThreadSlot> = AtomicPtr::new(ptr::null_mut());

/// A slot in the list for one thread, and for another one when that has ended.
pub(super) struct ThreadSlot {
    number: AtomicI32,
    /// The landing at which the thread goes on if its access is wild; null for none.
    landing: AtomicPtr<Landing>,
    next: *const ThreadSlot,
}

/// The landing of the calling thread, at which it goes on if it makes a wild access.
pub(super) fn landing() -> Option<&'static Landing> {
    let number = number();
    let mut next: *const ThreadSlot = THREADS.load(Ordering::Acquire);
    // SAFETY: what is in the list was leaked.
    while let Some(thread) = unsafe { next.as_ref() } {
        if thread.number.load(Ordering::Relaxed) == number {
            // SAFETY: it is there until the thread itself sets another one.
            return unsafe { thread.landing.load(Ordering::Acquire).as_ref() };
        }
        next = thread.next;
    }
    None
}

/// The calling thread's slot in the list.
pub(crate) struct OwnSlot {
    thread: &'static ThreadSlot,
    /// The slot is given back with this, where the thread's own storage is gone already.
    _lent: Option<SlotGuard>,
}

impl OwnSlot {
    pub(crate) fn own() -> OwnSlot {
        thread_local! {
            static OWN: SlotGuard = SlotGuard::take();
        }
        match OWN.try_with(|own| own.0) {
            Ok(thread) => OwnSlot { thread, _lent: None },
            Err(_) => {
                // The thread is ending.
                let own = SlotGuard::take();
                OwnSlot { thread: own.0, _lent: Some(own) }
            }
        }
    }

    /// Sets the landing at which the thread goes on after a wild access; null for none. Returns the
    /// one before.
    pub(super) fn expect(&self, landing: *const Landing) -> *const Landing {
        // Only this thread and its signal handler look at it, so nothing is to be ordered but them.
        let before = self.thread.landing.load(Ordering::Relaxed);
        self.thread.landing.store(landing.cast_mut(), Ordering::Release);
        before
    }
}

/// Gives a slot back to the list when it is dropped.
struct SlotGuard(&'static ThreadSlot);

impl SlotGuard {
    fn take() -> SlotGuard {
        handler::stand_in();
        unblock();
        let number = number();
        let mut next: *const ThreadSlot = THREADS.load(Ordering::Acquire);
        // SAFETY: what is in the list was leaked.
        while let Some(thread) = unsafe { next.as_ref() } {
            let free = &thread.number;
            if free.compare_exchange(NOBODY, number, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return SlotGuard(thread);
            }
            next = thread.next;
        }
        SlotGuard(add(number))
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.0.number.store(NOBODY, Ordering::Release);
    }
}

fn add(number: i32) -> &'static ThreadSlot {
    let landing = AtomicPtr::new(ptr::null_mut());
    let thread = ThreadSlot { number: AtomicI32::new(number), landing, next: ptr::null() };
    let thread = Box::into_raw(Box::new(thread));
    let mut first = THREADS.load(Ordering::Relaxed);
    loop {
        // SAFETY: nobody else knows of it yet.
        unsafe { (*thread).next = first };
        match THREADS.compare_exchange_weak(first, thread, Ordering::AcqRel, Ordering::Relaxed) {
            // SAFETY: it was leaked just now.
            Ok(_) => return unsafe { &*thread },
            Err(now) => first = now,
        }
    }
}

/// The system's number of the calling thread.
fn number() -> i32 {
    // SAFETY: it asks for a number, and may be called anywhere.
    unsafe { libc::gettid() }
}

/// Lets page faults of the calling thread come to the handler: with the signal blocked, they end
/// the process. A thread inherits what it blocks from who started it.
fn unblock() {
    let mut signals = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is made empty before it is read.
    unsafe {
        libc::sigemptyset(signals.as_mut_ptr());
        libc::sigaddset(signals.as_mut_ptr(), libc::SIGSEGV);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, signals.as_ptr(), ptr::null_mut());
    }
}
