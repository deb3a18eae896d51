//! The locks and atomics of what is shared.

pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

pub(super) use parking_lot::{Condvar, Mutex};
