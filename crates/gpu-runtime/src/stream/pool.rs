//! Streams of the driver, kept for reuse by each device.

use cuda_sys::CUstream;

use crate::check;
use crate::device_state::DeviceState;
use crate::error::Result;
use crate::handle::Handle;
use crate::shared::Idle;
use crate::software::Kept;
use crate::teardown;

/// Of each priority, streams beyond this many are destroyed instead of kept.
const KEPT: usize = 32;

/// The streams of one device that nobody has a handle of, with their priorities.
pub(crate) struct StreamPool {
    idle: Idle<(i32, Handle<CUstream>)>,
}

impl StreamPool {
    pub(crate) fn new() -> StreamPool {
        StreamPool { idle: Idle::new(KEPT) }
    }

    /// A stream that has done all its work, if there is one. Of those that were given back only the
    /// first is asked; if it still works, the next caller asks the next one.
    pub(crate) fn take(
        &self,
        state: &DeviceState,
        priority: i32,
    ) -> Result<Option<Handle<CUstream>>> {
        let Some((_, raw)) = self.idle.take(|(of, _)| *of == priority) else {
            return Ok(None);
        };
        state.bind()?;
        // SAFETY: the stream was in the pool, so nobody else destroys it.
        let result = unsafe { (state.driver.cuStreamQuery)(raw.0) };
        if check::query(state, None, "cuStreamQuery", result)? {
            return Ok(Some(raw));
        }
        if !self.put(priority, raw) {
            destroy(state, raw);
        }
        Ok(None)
    }

    /// Keeps the stream, unless there are enough.
    pub(crate) fn put(&self, priority: i32, raw: Handle<CUstream>) -> bool {
        self.idle.put((priority, raw), |(of, _)| *of == priority).is_ok()
    }

    /// Tells of all that are kept.
    pub(crate) fn tell_kept(&self, tell: &mut dyn FnMut(Kept)) {
        self.idle.each(|(_, raw)| tell(Kept::object(raw.0)));
    }

    /// Destroys all that are kept.
    pub(crate) fn clear(&self, state: &DeviceState) {
        self.idle.take_all().into_iter().for_each(|(_, raw)| destroy(state, raw));
    }
}

/// Destroys a stream; the driver does so once it has done its work.
pub(super) fn destroy(state: &DeviceState, raw: Handle<CUstream>) {
    teardown::destroy(state, "cuStreamDestroy_v2", |driver| {
        // SAFETY: the caller owns the stream and gives it up.
        unsafe { (driver.cuStreamDestroy_v2)(raw.0) }
    });
}
