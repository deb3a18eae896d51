//! Events of the driver without timing, kept for reuse by each device.

use std::ptr::null_mut;

use cuda_sys::{CUevent, CUevent_flags, CUresult};

use super::{DeviceState, Handle, PerDevice, capture_mode, check, software, teardown};
use crate::error::Result;
use crate::shared::Idle;

/// Events beyond this many are destroyed instead of kept.
const KEPT: usize = 1024;

/// The idle events of one device.
struct EventPool {
    idle: Idle<Handle<CUevent>>,
}

static POOLS: PerDevice<EventPool> = PerDevice::new();

impl Default for EventPool {
    fn default() -> EventPool {
        EventPool { idle: Idle::new(KEPT) }
    }
}

/// Destroys all events of a device that are kept for reuse.
pub(crate) fn clear(state: &DeviceState) {
    let idle = POOLS.of(state.device).idle.take_all();
    idle.into_iter().for_each(|event| destroy(state, event));
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
        let raw = match POOLS.of(state.device).idle.take(|_| true) {
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

    pub(crate) fn handle(&self) -> Handle<CUevent> {
        self.raw
    }
}

impl Drop for PooledEvent {
    fn drop(&mut self) {
        if let Err(event) = POOLS.of(self.state.device).idle.put(self.raw, |_| true) {
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
    let _allowed = capture_mode::relaxed();
    // SAFETY: the caller owns the event, so it is not destroyed meanwhile.
    let query = || unsafe { (state.driver.cuEventQuery)(event.0) };
    let mut result = query();
    if result == CUresult::CUDA_ERROR_INVALID_CONTEXT {
        state.bind()?;
        result = query();
    }
    check::query(state, None, "cuEventQuery", result)
}

/// Destroys an event; the driver does so once no stream needs it any more.
pub(crate) fn destroy(state: &DeviceState, event: Handle<CUevent>) {
    teardown::destroy(state, "cuEventDestroy_v2", |driver| {
        // SAFETY: the caller owns the event and gives it up.
        unsafe { (driver.cuEventDestroy_v2)(event.0) }
    });
}
