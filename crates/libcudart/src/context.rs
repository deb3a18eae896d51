//! The current device: the driver's current context is the only state that says which it is, so
//! programs may use both interfaces.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use cuda_sys::{CUcontext, CUdevice};

use crate::driver::cu;
use crate::error::{Result, cudaError_t};

thread_local! {
    /// The device that the thread uses when it has no current context.
    static CHOSEN: Cell<c_int> = const { Cell::new(0) };
    /// The number of resets that the thread has taken note of.
    static SEEN: Cell<usize> = const { Cell::new(0) };
}

/// The number of resets of devices in this process.
static RESETS: AtomicUsize = AtomicUsize::new(0);

/// The addresses of contexts that were reset, which are still current in other threads.
static ENDED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// The addresses of the primary contexts that were retained, by device; 0 where none was.
///
/// Each is retained once and kept until the device is reset or the process ends.
static RETAINED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Makes sure that the thread has a current context.
#[inline]
pub(crate) fn enter() -> Result {
    let resets = RESETS.load(Ordering::Acquire);
    let current = current()?;
    if current.is_null() || has_ended(current) {
        make_current(primary(CHOSEN.get())?)?;
    }
    SEEN.set(resets);
    Ok(())
}

/// Whether another thread reset the device whose context this is, since this thread last entered. A
/// context made anew may have the same address, and is made current once more, which does no harm.
fn has_ended(context: CUcontext) -> bool {
    let is_news = SEEN.get() != RESETS.load(Ordering::Acquire);
    is_news && ENDED.lock().unwrap_or_else(PoisonError::into_inner).contains(&context.addr())
}

/// The driver's current context of this thread, null if there is none.
pub(crate) fn current() -> Result<CUcontext> {
    let mut context = null_mut();
    // SAFETY: `context` is writable.
    unsafe { cu::cuCtxGetCurrent(&mut context) }?;
    Ok(context)
}

/// The current device. Asking initialises none.
pub(crate) fn device() -> Result<c_int> {
    let current = current()?;
    if current.is_null() || has_ended(current) {
        return Ok(CHOSEN.get());
    }
    let mut device = 0;
    // SAFETY: `device` is writable.
    unsafe { cu::cuCtxGetDevice(&mut device) }?;
    Ok(device)
}

/// Makes a device the thread's current one, and initialises it.
pub(crate) fn choose(ordinal: c_int) -> Result {
    make_current(primary(ordinal)?)?;
    CHOSEN.set(ordinal);
    Ok(())
}

/// The driver's handle of a device.
///
/// # Errors
/// `cudaErrorInvalidDevice` if there is none of this number.
pub(crate) fn handle(ordinal: c_int) -> Result<CUdevice> {
    let mut device = 0;
    // SAFETY: `device` is writable.
    unsafe { cu::cuDeviceGet(&mut device, ordinal) }?;
    Ok(device)
}

/// The primary context of a device, which is retained at the first call.
pub(crate) fn primary(ordinal: c_int) -> Result<CUcontext> {
    let device = handle(ordinal)?;
    let index = usize::try_from(ordinal).map_err(|_| cudaError_t::cudaErrorInvalidDevice)?;
    let mut retained = RETAINED.lock().unwrap_or_else(PoisonError::into_inner);
    if retained.len() <= index {
        retained.resize(index + 1, 0);
    }
    if retained[index] == 0 {
        let mut context: CUcontext = null_mut();
        // SAFETY: `context` is writable.
        unsafe { cu::cuDevicePrimaryCtxRetain(&mut context, device) }?;
        retained[index] = context.expose_provenance();
    }
    Ok(with_exposed_provenance_mut(retained[index]))
}

/// Destroys all that the process has on the current device. The next call begins anew.
pub(crate) fn reset() -> Result {
    let ordinal = device()?;
    let device = handle(ordinal)?;
    let mut retained = RETAINED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(context) = retained.get_mut(ordinal.cast_unsigned() as usize)
        && *context != 0
    {
        ENDED.lock().unwrap_or_else(PoisonError::into_inner).push(*context);
        *context = 0;
        make_current(null_mut())?;
        // SAFETY: these take no pointer; the context was retained once, by us.
        unsafe {
            cu::cuDevicePrimaryCtxReset_v2(device)?;
            cu::cuDevicePrimaryCtxRelease_v2(device)?;
        }
        RESETS.fetch_add(1, Ordering::Release);
    }
    CHOSEN.set(ordinal);
    Ok(())
}

fn make_current(context: CUcontext) -> Result {
    // SAFETY: the context is null, or a primary one that is retained.
    unsafe { cu::cuCtxSetCurrent(context) }
}
