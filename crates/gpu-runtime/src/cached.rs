//! What this process keeps for reuse, which the software driver's list of leaks leaves out.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::memory::DevicePtr;
use crate::platform;
use crate::retired;
use crate::software::Kept;

/// Takes down what a cache keeps when the process ends: see [`tell_what_is_cached`].
pub struct Cached<'a>(&'a mut dyn FnMut(Kept));

impl Cached<'_> {
    /// All memory in a range, on a device or the host, is held by nobody.
    pub fn memory(&mut self, start: DevicePtr, bytes: usize) {
        (self.0)(Kept::memory(start, bytes));
    }
}

impl fmt::Debug for Cached<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cached")
    }
}

type Tells = fn(&mut Cached<'_>);

static TELLERS: Mutex<Vec<Tells>> = Mutex::new(Vec::new());

/// Has `who` say when the process ends what memory it keeps for reuse. The software driver's checked
/// mode lists then what was not given back, and that is to be what the program has lost, and not what
/// a cache has. With another driver, and without that check, it is never asked.
///
/// It is called once, while other threads may still run, and must wait for none of them: what it could
/// tell only under a lock that is taken it leaves out.
pub fn tell_what_is_cached(who: fn(&mut Cached<'_>)) {
    TELLERS.lock().unwrap_or_else(PoisonError::into_inner).push(who);
}

/// Tells the driver of all that is kept.
#[cfg_attr(not(feature = "software"), allow(dead_code, reason = "no other driver asks"))]
pub(crate) fn tell(driver: &mut dyn FnMut(Kept)) {
    let Some(platform) = platform::existing() else { return };
    let tellers = TELLERS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    tellers.iter().for_each(|tell| tell(&mut Cached(driver)));
    // After the caches, which may let go of points in streams when they look through what they have.
    platform.devices.iter().for_each(|state| state.tell_kept(driver));
    retired::HOST_MEMORY.tell_kept(driver);
}
