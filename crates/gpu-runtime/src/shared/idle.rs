//! Things that nobody uses, kept for whoever wants one.

use std::collections::VecDeque;
use std::mem;

use super::sync::{Mutex, MutexGuard};

/// Idle things, the longest idle first, up to a number of each kind.
///
/// Each is handed out to one owner at a time: however many there are, no two have the same.
pub(crate) struct Idle<T> {
    limit: usize,
    things: Mutex<VecDeque<T>>,
}

impl<T> Idle<T> {
    pub(crate) fn new(limit: usize) -> Idle<T> {
        Idle { limit, things: Mutex::new(VecDeque::new()) }
    }

    /// The longest idle of those that are wanted.
    pub(crate) fn take(&self, is_wanted: impl Fn(&T) -> bool) -> Option<T> {
        let mut things = self.lock();
        let index = things.iter().position(is_wanted)?;
        things.remove(index)
    }

    /// Keeps a thing.
    ///
    /// # Errors
    /// The thing, if there are enough of its kind.
    pub(crate) fn put(&self, thing: T, is_alike: impl Fn(&T) -> bool) -> Result<(), T> {
        let mut things = self.lock();
        // Mostly there are few of all kinds together, and nobody has to count.
        let may_be_full = things.len() >= self.limit;
        if may_be_full && things.iter().filter(|other| is_alike(other)).count() >= self.limit {
            return Err(thing);
        }
        things.push_back(thing);
        Ok(())
    }

    /// Shows all of them, which stay.
    pub(crate) fn each(&self, show: impl FnMut(&T)) {
        self.lock().iter().for_each(show);
    }

    /// All of them, which are kept no more.
    pub(crate) fn take_all(&self) -> VecDeque<T> {
        mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.things.lock()
    }
}
