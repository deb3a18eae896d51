//! The atomics that the rest is made of.

pub(super) use std::sync::atomic::{AtomicUsize, Ordering, fence};
