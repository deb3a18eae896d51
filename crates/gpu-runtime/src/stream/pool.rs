//! Streams of the driver, kept for reuse by each device.

use cuda_sys::CUstream;

use crate::device::{CachedItem, DeviceState, Handle, PerDevice, capture_mode, check, teardown};
use crate::error::Result;
use crate::shared::Idle;
use crate::types::Device;

/// The most idle streams of each priority that are kept; others are destroyed.
const KEPT: usize = 32;

/// The streams of one device that nobody has a handle of, with their priorities.
struct StreamPool {
    idle: Idle<(i32, Handle<CUstream>)>,
}

static POOLS: PerDevice<StreamPool> = PerDevice::new();

impl Default for StreamPool {
    fn default() -> StreamPool {
        StreamPool { idle: Idle::new(KEPT) }
    }
}

/// A stream that has done all its work, if there is one. Of those that were given back only the
/// first is asked; if it still works, the next caller asks the next one.
pub(super) fn take(state: &DeviceState, priority: i32) -> Result<Option<Handle<CUstream>>> {
    let idle = &POOLS.of(state.device).idle;
    let Some((_, raw)) = idle.take(|(of, _)| *of == priority) else {
        return Ok(None);
    };
    state.bind()?;
    // A capture forbids to ask about any stream.
    let _allowed = capture_mode::relaxed();
    // SAFETY: the stream was in the pool, so nobody else destroys it.
    let result = unsafe { (state.driver.cuStreamQuery)(raw.0) };
    if check::query(state, None, "cuStreamQuery", result)? {
        return Ok(Some(raw));
    }
    if !put(state, priority, raw) {
        destroy(state, raw);
    }
    Ok(None)
}

/// Keeps the stream, unless there are enough.
pub(super) fn put(state: &DeviceState, priority: i32, raw: Handle<CUstream>) -> bool {
    POOLS.of(state.device).idle.put((priority, raw), |(of, _)| *of == priority).is_ok()
}

/// Tells of all that are kept.
pub(crate) fn tell_cached(device: Device, tell: &mut dyn FnMut(CachedItem)) {
    POOLS.of(device).idle.each(|(_, raw)| tell(CachedItem::object(raw.0)));
}

/// Destroys all that are kept.
pub(super) fn clear(state: &DeviceState) {
    let idle = POOLS.of(state.device).idle.take_all();
    idle.into_iter().for_each(|(_, raw)| destroy(state, raw));
}

/// Destroys a stream; the driver does so once it has done its work.
pub(super) fn destroy(state: &DeviceState, raw: Handle<CUstream>) {
    teardown::destroy(state, "cuStreamDestroy_v2", |driver| {
        // SAFETY: the caller owns the stream and gives it up.
        unsafe { (driver.cuStreamDestroy_v2)(raw.0) }
    });
}
