//! The atomics that the rest is made of.

pub(super) use std::sync::atomic::{AtomicU64, Ordering, fence};
