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

static THREADS: AtomicPtr<Thread> = AtomicPtr::new(ptr::null_mut());

/// A place for one thread, and for another one when that has ended.
pub(super) struct Thread {
    number: AtomicI32,
    /// Where the thread goes on if the access that it makes is wild.
    landing: AtomicPtr<Landing>,
    next: *const Thread,
}

/// Where the calling thread goes on if it makes a wild access.
pub(super) fn landing() -> Option<&'static Landing> {
    let number = number();
    let mut next: *const Thread = THREADS.load(Ordering::Acquire);
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

/// The calling thread's place in the list.
pub(crate) struct Place {
    thread: &'static Thread,
    /// It is given back with this.
    _lent: Option<Own>,
}

impl Place {
    pub(crate) fn own() -> Place {
        thread_local! {
            static OWN: Own = Own::take();
        }
        match OWN.try_with(|own| own.0) {
            Ok(thread) => Place { thread, _lent: None },
            Err(_) => {
                // The thread is ending.
                let own = Own::take();
                Place { thread: own.0, _lent: Some(own) }
            }
        }
    }

    /// Sets where the thread goes on at a wild access; null for nowhere. Returns where that was
    /// before.
    pub(super) fn expect(&self, landing: *const Landing) -> *const Landing {
        // Only this thread and its signal handler look at it, so nothing is to be ordered but them.
        let before = self.thread.landing.load(Ordering::Relaxed);
        self.thread.landing.store(landing.cast_mut(), Ordering::Release);
        before
    }
}

/// A place in the list, which is given back.
struct Own(&'static Thread);

impl Own {
    fn take() -> Own {
        handler::stand_in();
        unblock();
        let number = number();
        let mut next: *const Thread = THREADS.load(Ordering::Acquire);
        // SAFETY: what is in the list was leaked.
        while let Some(thread) = unsafe { next.as_ref() } {
            let free = &thread.number;
            if free.compare_exchange(NOBODY, number, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Own(thread);
            }
            next = thread.next;
        }
        Own(add(number))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.0.number.store(NOBODY, Ordering::Release);
    }
}

fn add(number: i32) -> &'static Thread {
    let landing = AtomicPtr::new(ptr::null_mut());
    let thread = Thread { number: AtomicI32::new(number), landing, next: ptr::null() };
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
