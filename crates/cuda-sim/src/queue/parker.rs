//! A place for a thread to sleep until it is told something.

use parking_lot::{Condvar, Mutex};

/// A place where one thread sleeps until another one wakes it.
///
/// `std::thread::park` would do, but its token belongs to the program: eating one that the program
/// sent itself could leave it asleep.
#[derive(Debug)]
pub(super) struct Parker<T> {
    message: Mutex<Option<T>>,
    arrived: Condvar,
}

impl<T> Default for Parker<T> {
    fn default() -> Parker<T> {
        Parker { message: Mutex::new(None), arrived: Condvar::new() }
    }
}

impl<T> Parker<T> {
    /// Sleeps until [`wake`](Parker::wake), which may have come first.
    pub(super) fn sleep(&self) -> T {
        let mut message = self.message.lock();
        loop {
            match message.take() {
                Some(message) => return message,
                None => {
                    self.arrived.wait(&mut message);
                }
            }
        }
    }

    /// Ends the sleep.
    pub(super) fn wake(&self, message: T) {
        *self.message.lock() = Some(message);
        self.arrived.notify_one();
    }

    /// Whether it would not sleep.
    #[cfg(test)]
    pub(super) fn is_told(&self) -> bool {
        self.message.lock().is_some()
    }
}
