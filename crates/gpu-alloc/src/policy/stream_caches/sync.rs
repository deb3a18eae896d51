//! The locks and atomics of [`checked_out`](super::checked_out). `tests/interleavings` has others in
//! their place.

pub(super) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Costs one atomic exchange; it is held for some tens of nanoseconds, and never while its owner
/// waits for anything.
pub(super) use spin::Mutex as Lock;

/// The number of times that a thread looks at a lock that another has before it does without.
pub(super) const LOOKS: u32 = 64;

/// Called between two looks at a lock that a thread can do without.
pub(super) use std::hint::spin_loop;

/// Called before a thread looks once more at a lock that it needs.
pub(super) use std::thread::yield_now;
