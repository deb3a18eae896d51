//! The times of events.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The time when a stream passed a point.
#[derive(Debug, Default)]
pub(crate) struct Timestamp(AtomicU64);

impl Timestamp {
    /// Nanoseconds since the process first asked for the time; `None` until the point is passed.
    pub(crate) fn nanoseconds(&self) -> Option<u64> {
        self.0.load(Ordering::Acquire).checked_sub(1)
    }

    /// The stream passes the point now.
    pub(crate) fn set_now(&self) {
        static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);
        let nanoseconds = EPOCH.elapsed().as_nanos();
        self.set(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
    }

    /// The stream passes the point at that time.
    pub(super) fn set(&self, nanoseconds: u64) {
        self.0.store(nanoseconds.saturating_add(1), Ordering::Release);
    }
}
