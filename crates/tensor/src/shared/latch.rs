//! A result that one thread waits for and another one brings.

use super::sync::{Condvar, Mutex};

/// An empty place for a result. Who waits at it does nothing else meanwhile.
pub(crate) struct Latch<T> {
    result: Mutex<Option<T>>,
    arrived: Condvar,
}

impl<T> Latch<T> {
    pub(crate) fn new() -> Latch<T> {
        Latch { result: Mutex::new(None), arrived: Condvar::new() }
    }

    /// Brings the result.
    pub(crate) fn set(&self, result: T) {
        *self.result.lock() = Some(result);
        self.arrived.notify_one();
    }

    /// Takes the result, once it is there.
    pub(crate) fn wait(&self) -> T {
        let mut result = self.result.lock();
        loop {
            match result.take() {
                Some(result) => return result,
                None => self.arrived.wait(&mut result),
            }
        }
    }
}
