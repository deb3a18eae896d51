//! Things that this process keeps for reuse, which the software driver's list of leaks leaves out.

use std::fmt;

use parking_lot::Mutex;

use crate::copy::peer_link;
use crate::device::{CachedItem, platform};
use crate::queue::retired;
use crate::stream::{StreamKeepAlive, pool, registry};
use crate::types::{Device, DevicePtr};

/// Takes down what a cache keeps when the process ends: see [`tell_what_is_cached`].
pub struct Cached<'a>(&'a mut dyn FnMut(CachedItem));

impl Cached<'_> {
    /// All memory in a range, on a device or the host, is held by nobody.
    pub fn memory(&mut self, start: DevicePtr, bytes: usize) {
        (self.0)(CachedItem::memory(start, bytes));
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
    TELLERS.lock().push(who);
}

/// Tells the driver of all that is kept.
#[cfg_attr(not(feature = "software"), allow(dead_code, reason = "no other driver asks"))]
pub(crate) fn tell(driver: &mut dyn FnMut(CachedItem)) {
    let Some(platform) = platform::existing() else { return };
    let tellers = TELLERS.lock().clone();
    tellers.iter().for_each(|tell| tell(&mut Cached(driver)));
    // After the caches, which may let go of points in streams when they look through what they have.
    platform.devices.iter().for_each(|state| tell_of_device(state.device, driver));
    retired::HOST_MEMORY.tell_cached(driver);
}

/// Tells of what is kept for reuse on a device.
fn tell_of_device(device: Device, tell: &mut dyn FnMut(CachedItem)) {
    if let Some(stream) = registry::existing_default_stream(device) {
        tell(CachedItem::object(stream.raw()));
    }
    let streams = registry::streams(device).into_iter().map(StreamKeepAlive::from);
    let abandoned = streams.filter(StreamKeepAlive::is_abandoned);
    abandoned.for_each(|stream| tell(CachedItem::object(stream.raw())));
    pool::tell_cached(device, tell);
    retired::of_device(device).tell_cached(tell);
    peer_link::tell_cached(device, tell);
}
