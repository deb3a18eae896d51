//! What is known of the bytes of memory, apart from where they lie: physical memory may be mapped at
//! several addresses at a time, and keeps what was written when it is not mapped at all.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use super::enabled;
use super::shadow::ShadowMemory;

/// The shadow of memory, made when somebody first asks.
#[derive(Default)]
pub struct Contents {
    shadow: OnceLock<ShadowMemory>,
}

impl Contents {
    /// Memory that the host can write too, of so many bytes: all of it counts as written.
    pub fn of_the_host(bytes: u64) -> Contents {
        let contents = Contents::default();
        if enabled::is_on() {
            contents.shadow(&(0..bytes), true);
        }
        contents
    }

    /// The shadow, for those places. `written`: all of it counts as written to begin with.
    pub(crate) fn shadow(&self, places: &Range<u64>, written: bool) -> &ShadowMemory {
        self.shadow.get_or_init(|| ShadowMemory::new(places, written))
    }
}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contents").finish_non_exhaustive()
    }
}
