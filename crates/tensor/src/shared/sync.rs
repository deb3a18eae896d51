//! The locks and atomics that the rest is made of.

pub(super) use std::sync::atomic::{AtomicUsize, Ordering, fence};

pub(super) use parking_lot::{Condvar, Mutex};
