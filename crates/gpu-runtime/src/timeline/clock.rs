//! The host's clock: this machine's, or the virtual one where the driver has such.

use std::time::{Duration, Instant};

use crate::device::software;

/// A clock that was started.
pub(super) enum HostClock {
    Real(Instant),
    /// The calling thread's, and what it said at the start.
    Virtual(Duration),
}

impl HostClock {
    pub(super) fn start() -> HostClock {
        software::virtual_now().map_or_else(|| HostClock::Real(Instant::now()), HostClock::Virtual)
    }

    /// The time since the start.
    pub(super) fn now(&self) -> Duration {
        match self {
            HostClock::Real(start) => start.elapsed(),
            HostClock::Virtual(start) => {
                software::virtual_now().unwrap_or(*start).saturating_sub(*start)
            }
        }
    }

    /// When the start was, by the driver's clock, where that is virtual.
    pub(super) fn virtual_start(&self) -> Option<Duration> {
        match self {
            HostClock::Real(_) => None,
            HostClock::Virtual(start) => Some(*start),
        }
    }
}
