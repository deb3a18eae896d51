//! A place for a host thread to sleep until one thing has happened.

use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// One thread sleeps here, one other wakes it.
///
/// `std::thread::park` would do, but its token belongs to the program: eating one that the program
/// sent itself could leave it asleep.
#[derive(Debug, Default)]
pub(super) struct Parker {
    signalled: Mutex<bool>,
    changed: Condvar,
}

impl Parker {
    /// The calling thread's own, unsignalled. Valid for one [`sleep`](Parker::sleep).
    pub(super) fn current() -> Arc<Parker> {
        thread_local! {
            static SPARE: RefCell<Option<Arc<Parker>>> = const { RefCell::new(None) };
        }
        let spare = SPARE.try_with(|spare| spare.borrow_mut().get_or_insert_default().clone());
        spare.unwrap_or_default()
    }

    /// Sleeps until [`wake`](Parker::wake), which may have come first.
    pub(super) fn sleep(&self) {
        let mut signalled = self.signalled.lock().unwrap_or_else(PoisonError::into_inner);
        while !*signalled {
            signalled = self.changed.wait(signalled).unwrap_or_else(PoisonError::into_inner);
        }
        *signalled = false;
    }

    /// Ends the sleep.
    pub(super) fn wake(&self) {
        *self.signalled.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }
}
