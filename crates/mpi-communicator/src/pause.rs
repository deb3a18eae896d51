//! Pauses between looks at what has arrived.

use std::thread;
use std::time::Duration;

/// Pauses between looks: first none, so that a quick answer is not missed, then such that other
/// processes on this processor get on.
#[derive(Default)]
pub(crate) struct Pause {
    looks: u32,
}

impl Pause {
    pub(crate) fn pause(&mut self) {
        const QUICK_LOOKS: u32 = 200;
        const PAUSE: Duration = Duration::from_micros(50);
        self.looks = self.looks.saturating_add(1);
        if self.looks < QUICK_LOOKS { thread::yield_now() } else { thread::sleep(PAUSE) }
    }
}
