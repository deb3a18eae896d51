//! The host's clock: this machine's, or the virtual one where the driver has such.

use std::time::{Duration, Instant};

use crate::software;

/// A clock that was started.
pub(super) enum Clock {
    Real(Instant),
    /// The calling thread's, and what it said at the start.
    Virtual(Duration),
}

impl Clock {
    pub(super) fn start() -> Clock {
        software::virtual_now().map_or_else(|| Clock::Real(Instant::now()), Clock::Virtual)
    }

    /// The time since the start.
    pub(super) fn now(&self) -> Duration {
        match self {
            Clock::Real(start) => start.elapsed(),
            Clock::Virtual(start) => {
                software::virtual_now().unwrap_or(*start).saturating_sub(*start)
            }
        }
    }

    /// When the start was, by the driver's clock, where that is virtual.
    pub(super) fn virtual_start(&self) -> Option<Duration> {
        match self {
            Clock::Real(_) => None,
            Clock::Virtual(start) => Some(*start),
        }
    }
}
