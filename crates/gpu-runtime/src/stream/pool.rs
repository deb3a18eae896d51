//! Streams of the driver, kept for reuse by each device.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_sys::CUstream;

use crate::check;
use crate::device_state::DeviceState;
use crate::error::Result;
use crate::handle::Handle;
use crate::teardown;

/// Of each priority, streams beyond this many are destroyed instead of kept.
const KEPT: usize = 32;

/// The streams of one device that nobody has a handle of, by priority.
///
/// A stream is handed out to one owner at a time: however many there are, no two share one.
pub(crate) struct StreamPool {
    idle: Mutex<BTreeMap<i32, VecDeque<Handle<CUstream>>>>,
}

impl StreamPool {
    pub(crate) const fn new() -> StreamPool {
        StreamPool { idle: Mutex::new(BTreeMap::new()) }
    }

    /// A stream that has done all its work, if there is one. Of those that were given back only the
    /// first is asked; if it still works, the next caller asks the next one.
    pub(crate) fn take(
        &self,
        state: &DeviceState,
        priority: i32,
    ) -> Result<Option<Handle<CUstream>>> {
        let Some(raw) = self.lock().get_mut(&priority).and_then(VecDeque::pop_front) else {
            return Ok(None);
        };
        state.bind()?;
        // SAFETY: the stream was in the pool, so nobody else destroys it.
        let result = unsafe { (state.driver.cuStreamQuery)(raw.0) };
        if check::query(state, None, "cuStreamQuery", result)? {
            return Ok(Some(raw));
        }
        self.lock().entry(priority).or_default().push_back(raw);
        Ok(None)
    }

    /// Keeps the stream, unless there are enough.
    pub(crate) fn put(&self, priority: i32, raw: Handle<CUstream>) -> bool {
        let mut idle = self.lock();
        let idle = idle.entry(priority).or_default();
        let room = idle.len() < KEPT;
        if room {
            idle.push_back(raw);
        }
        room
    }

    /// Destroys all that are kept.
    pub(crate) fn clear(&self, state: &DeviceState) {
        let idle = mem::take(&mut *self.lock());
        idle.into_values().flatten().for_each(|raw| destroy(state, raw));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<i32, VecDeque<Handle<CUstream>>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Destroys a stream; the driver does so once it has done its work.
pub(super) fn destroy(state: &DeviceState, raw: Handle<CUstream>) {
    teardown::destroy(state, "cuStreamDestroy_v2", |driver| {
        // SAFETY: the caller owns the stream and gives it up.
        unsafe { (driver.cuStreamDestroy_v2)(raw.0) }
    });
}
