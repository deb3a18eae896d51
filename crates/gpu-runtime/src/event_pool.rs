//! Events of the driver without timing, kept for reuse by each device.

use std::ptr::null_mut;

use cuda_sys::{CUevent, CUevent_flags, CUresult};

use crate::check;
use crate::device_state::DeviceState;
use crate::error::Result;
use crate::graph;
use crate::handle::Handle;
use crate::observe::WorkId;
use crate::shared::Idle;
use crate::software;
use crate::teardown;
use crate::wait::host_wait;
use crate::waits::Leave;

/// Events beyond this many are destroyed instead of kept.
const KEPT: usize = 1024;

/// The idle events of one device.
pub(crate) struct EventPool {
    idle: Idle<Handle<CUevent>>,
}

impl EventPool {
    pub(crate) fn new() -> EventPool {
        EventPool { idle: Idle::new(KEPT) }
    }

    /// Destroys all that are kept.
    pub(crate) fn clear(&self, state: &DeviceState) {
        self.idle.take_all().into_iter().for_each(|event| destroy(state, event));
    }
}

/// An event of the driver, given back to its device's pool when dropped.
///
/// It may go back, and be recorded anew, while streams still wait for it: a wait holds to the
/// recording that it saw.
pub(crate) struct PooledEvent {
    raw: Handle<CUevent>,
    state: &'static DeviceState,
}

impl PooledEvent {
    pub(crate) fn take(state: &'static DeviceState) -> Result<PooledEvent> {
        let raw = match state.events.idle.take(|_| true) {
            Some(raw) => raw,
            None => {
                let raw = create(state, CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
                software::keep_object(raw.0.addr() as u64);
                raw
            }
        };
        Ok(PooledEvent { raw, state })
    }

    pub(crate) fn raw(&self) -> CUevent {
        self.raw.0
    }

    pub(crate) fn is_complete(&self) -> Result<bool> {
        query(self.state, self.raw)
    }

    /// Blocks until what was awaited when the event was recorded is done.
    pub(crate) fn synchronize(&self, leave: Leave, awaited: WorkId) -> Result<()> {
        synchronize(self.state, self.raw, leave, awaited)
    }
}

impl Drop for PooledEvent {
    fn drop(&mut self) {
        if let Err(event) = self.state.events.idle.put(self.raw, |_| true) {
            destroy(self.state, event);
        }
    }
}

/// Creates an event on a device.
pub(crate) fn create(state: &DeviceState, flags: CUevent_flags) -> Result<Handle<CUevent>> {
    let mut raw: CUevent = null_mut();
    state.call("cuEventCreate", |driver| {
        // SAFETY: `raw` is writable, and the device's context is current.
        unsafe { (driver.cuEventCreate)(&mut raw, flags.0) }
    })?;
    Ok(Handle(raw))
}

/// Whether the newest recording of an event is complete.
///
/// An event says by itself on which device it is, so the context that is current does not matter; a
/// thread that has none may be refused, and gets the device's then.
#[inline]
pub(crate) fn query(state: &DeviceState, event: Handle<CUevent>) -> Result<bool> {
    state.works()?;
    let _allowed = graph::relaxed();
    // SAFETY: the caller owns the event, so it is not destroyed meanwhile.
    let query = || unsafe { (state.driver.cuEventQuery)(event.0) };
    let mut result = query();
    if result == CUresult::CUDA_ERROR_INVALID_CONTEXT {
        state.bind()?;
        result = query();
    }
    check::query(state, None, "cuEventQuery", result)
}

/// Blocks until the newest recording of an event, which came after `awaited`, is complete.
pub(crate) fn synchronize(
    state: &DeviceState,
    event: Handle<CUevent>,
    leave: Leave,
    awaited: WorkId,
) -> Result<()> {
    host_wait(state, leave, &[awaited], "cuEventSynchronize", |driver| {
        // SAFETY: the caller owns the event, so it is not destroyed meanwhile.
        unsafe { (driver.cuEventSynchronize)(event.0) }
    })
}

/// Destroys an event; the driver does so once no stream needs it any more.
pub(crate) fn destroy(state: &DeviceState, event: Handle<CUevent>) {
    teardown::destroy(state, "cuEventDestroy_v2", |driver| {
        // SAFETY: the caller owns the event and gives it up.
        unsafe { (driver.cuEventDestroy_v2)(event.0) }
    });
}
