//! loom's locks with `parking_lot`'s interface, and loom's atomics: the file that the shared code has
//! as `sync`. None of the locks is ever poisoned, since a panic ends the test.

use std::ops::{Deref, DerefMut};

use loom::sync;
pub(super) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
pub(super) use loom::sync::{RwLockReadGuard, RwLockWriteGuard};

const PANICKED: &str = "no test goes on after a panic";

/// Lets other threads go on, before the caller looks once more at what they are about to change.
pub(super) fn pause(_looks: u32) {
    loom::thread::yield_now();
}

pub(super) struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(super) fn new(value: T) -> Mutex<T> {
        Mutex(sync::Mutex::new(value))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().expect(PANICKED)))
    }
}

/// loom's guard, which is away while its owner waits for a [`Condvar`].
pub(super) struct MutexGuard<'a, T>(Option<sync::MutexGuard<'a, T>>);

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("nobody looks while it waits")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("nobody looks while it waits")
    }
}

pub(super) struct Condvar(sync::Condvar);

impl Condvar {
    pub(super) fn new() -> Condvar {
        Condvar(sync::Condvar::new())
    }

    pub(super) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(super) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.0.take().expect("who waits holds the lock");
        guard.0 = Some(self.0.wait(held).expect(PANICKED));
    }
}

pub(super) struct RwLock<T>(sync::RwLock<T>);

impl<T> RwLock<T> {
    pub(super) fn new(value: T) -> RwLock<T> {
        RwLock(sync::RwLock::new(value))
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().expect(PANICKED)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().expect(PANICKED)
    }
}
