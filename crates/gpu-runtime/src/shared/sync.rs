//! The locks and atomics that the rest is made of.

pub(super) use std::sync::atomic::{AtomicU64, Ordering};
pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};
