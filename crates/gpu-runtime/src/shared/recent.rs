//! The newest of what happens.

use std::collections::VecDeque;
use std::mem;

use super::sync::{Mutex, MutexGuard};

/// The newest entries, up to a number, oldest first.
pub(crate) struct Recent<T> {
    limit: usize,
    entries: Mutex<VecDeque<T>>,
}

impl<T> Recent<T> {
    pub(crate) fn new(limit: usize) -> Recent<T> {
        Recent { limit, entries: Mutex::new(VecDeque::new()) }
    }

    /// Adds an entry, and forgets the oldest one if there are too many.
    pub(crate) fn note(&self, entry: T) {
        let mut entries = self.lock();
        if entries.len() == self.limit {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// All entries, and forgets them.
    pub(crate) fn take_all(&self) -> VecDeque<T> {
        mem::take(&mut *self.lock())
    }

    /// Copies of some.
    pub(crate) fn find(&self, is_wanted: impl Fn(&T) -> bool) -> Vec<T>
    where
        T: Clone,
    {
        self.lock().iter().filter(|entry| is_wanted(entry)).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.entries.lock()
    }
}
