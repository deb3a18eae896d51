//! The locks and atomics that the rest is made of.

use std::time::Duration;
use std::{hint, thread};

pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(super) use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Lets other threads go on, before the caller looks once more at what they are about to change:
/// the more often it has looked, the longer.
#[cold]
pub(super) fn pause(looks: u32) {
    match looks {
        ..100 => hint::spin_loop(),
        100..200 => thread::yield_now(),
        // However urgent this thread is, the others get their turn.
        _ => thread::sleep(Duration::from_micros(50)),
    }
}
