//! Capture modes: which threads a capture forbids calls that do their work at once, where no capture
//! sees it.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_sys::CUstreamCaptureMode;

use super::platform;

/// The strictness of a capture, or of a thread, with calls that are not safe while something is
/// captured: allocating and freeing memory, loading modules, waiting. They do their work at once, and
/// what is captured may depend on it. These are CUDA's modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CaptureMode {
    /// A capture forbids them to all threads; a thread heeds what all others capture. Threads begin
    /// with this mode.
    Global,
    /// A capture forbids them to the thread in which it is; a thread heeds only what it captures
    /// itself. Captures have this mode if nothing else is said.
    #[default]
    ThreadLocal,
    /// A capture forbids nothing; a thread heeds nothing.
    Relaxed,
}

/// The number of captures in progress: while it is 0, nobody looks further.
static CAPTURES: AtomicUsize = AtomicUsize::new(0);
/// The number of captures that forbid something to all threads.
static GLOBAL: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static HEEDED: Cell<CaptureMode> = const { Cell::new(CaptureMode::Global) };
}

/// Runs `f` while this thread heeds captures as `mode` says (`cuThreadExchangeStreamCaptureMode`).
/// The mode before is restored afterwards, also on a panic.
///
/// With [`CaptureMode::Relaxed`], `f` may do in the midst of a capture what that forbids, as memory
/// for the captured work must be allocated, and what `f` does is done once and not at each launch.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{CaptureMode, Device, DeviceBuffer, Error, Stream, with_capture_mode};
///
/// let device = Device::get(0)?;
/// let allocate = || DeviceBuffer::<f32>::new(device, 100);
/// Stream::new(device)?.capture(|_| {
///     assert!(matches!(allocate(), Err(Error::Capture { .. })));
///     with_capture_mode(CaptureMode::Relaxed, allocate)
/// })?;
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
pub fn with_capture_mode<R>(mode: CaptureMode, f: impl FnOnce() -> R) -> R {
    let _heeding = Heeding::exchange(mode);
    f()
}

/// Lets the thread do what the runtime knows to be safe during a capture: to ask about events that
/// are not captured, to give back what nobody uses.
pub(crate) fn relaxed() -> Option<Heeding> {
    any().then(|| Heeding::exchange(CaptureMode::Relaxed))
}

/// Whether anything is being captured. It costs one relaxed load.
#[inline]
pub(crate) fn any() -> bool {
    CAPTURES.load(Ordering::Relaxed) > 0
}

/// The mode with which the calling thread heeds captures.
pub(crate) fn heeded() -> CaptureMode {
    HEEDED.get()
}

/// Whether some capture forbids unsafe calls to all threads.
pub(crate) fn is_any_global() -> bool {
    GLOBAL.load(Ordering::Acquire) > 0
}

/// Counts a capture that begins.
pub(crate) fn count_in(mode: CaptureMode) {
    CAPTURES.fetch_add(1, Ordering::AcqRel);
    GLOBAL.fetch_add(usize::from(mode == CaptureMode::Global), Ordering::AcqRel);
}

/// Counts a capture that has ended.
pub(crate) fn count_out(mode: CaptureMode) {
    GLOBAL.fetch_sub(usize::from(mode == CaptureMode::Global), Ordering::AcqRel);
    CAPTURES.fetch_sub(1, Ordering::AcqRel);
}

/// A mode that a thread has for a while.
pub(crate) struct Heeding {
    previous: CaptureMode,
}

impl Heeding {
    pub(crate) fn exchange(mode: CaptureMode) -> Heeding {
        heed(mode);
        Heeding { previous: HEEDED.replace(mode) }
    }
}

impl Drop for Heeding {
    fn drop(&mut self) {
        heed(self.previous);
        HEEDED.set(self.previous);
    }
}

impl CaptureMode {
    pub(crate) fn number(self) -> CUstreamCaptureMode {
        match self {
            CaptureMode::Global => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
            CaptureMode::ThreadLocal => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            CaptureMode::Relaxed => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
        }
    }
}

/// Makes the calling thread heed captures as told, in a process that uses a driver.
fn heed(mode: CaptureMode) {
    let Some(platform) = platform::existing() else { return };
    let driver = platform.devices[0].driver;
    let mut number = mode.number();
    if let Some(exchange) = driver.cuThreadExchangeStreamCaptureMode {
        // SAFETY: `number` is one of the modes, and writable. It concerns this thread only, and
        // needs no context.
        let _ = unsafe { exchange(&mut number) };
    }
}
