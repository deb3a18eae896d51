//! What a capture forbids to whom: calls that do their work at once, where no capture sees it.

use std::cell::Cell;
use std::sync::Weak;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_sys::CUstreamCaptureMode;

use super::books::Books;
use super::problem::CaptureProblem;
use super::{current, driver};
use crate::error::{Error, Result};

/// How a capture, or a thread, goes about calls that are not safe while something is captured:
/// allocating and freeing memory, loading modules, waiting. They do their work at once, and what is
/// captured may depend on it. These are CUDA's modes.
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

/// How many captures there are, for everybody while there are none.
static CAPTURES: AtomicUsize = AtomicUsize::new(0);
/// How many of them forbid something to all threads.
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

/// Runs `f` as if this thread captured nothing, and heeding no capture: what `f` enqueues on streams
/// that are not being captured runs at once, and memory that it allocates for them holds something
/// from then on. For what a captured program needs once, and its graph at every launch.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{Capture, Device, Stream, outside_of_captures};
///
/// let device = Device::get(0)?;
/// let (captured, other) = (Stream::new(device)?, Stream::new(device)?);
/// captured.capture(|_| {
///     let runs = || Ok(Capture::of(&other)?.is_none());
///     assert!(outside_of_captures(runs)?);
///     Ok::<_, gpu_runtime::Error>(())
/// })?;
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
pub fn outside_of_captures<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(Weak<Books>);
    impl Drop for Restore {
        fn drop(&mut self) {
            current::replace(std::mem::take(&mut self.0));
        }
    }
    let _heeding = Heeding::exchange(CaptureMode::Relaxed);
    let _restore = Restore(current::replace(Weak::new()));
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

/// Asks whether the calling thread may do what no capture sees.
///
/// # Errors
/// [`CaptureProblem::Forbidden`] if a capture forbids it. The driver was not asked, and the capture
/// goes on.
pub(crate) fn permit(operation: &'static str) -> Result<()> {
    if !any() {
        return Ok(());
    }
    let heeded = HEEDED.get();
    let own = current::mode().is_some_and(|mode| mode != CaptureMode::Relaxed);
    let others = heeded == CaptureMode::Global && GLOBAL.load(Ordering::Acquire) > 0;
    match heeded != CaptureMode::Relaxed && (own || others) {
        true => Err(Error::Capture { operation, problem: CaptureProblem::Forbidden }),
        false => Ok(()),
    }
}

/// Counts a capture that begins.
pub(super) fn count_in(mode: CaptureMode) {
    CAPTURES.fetch_add(1, Ordering::AcqRel);
    GLOBAL.fetch_add(usize::from(mode == CaptureMode::Global), Ordering::AcqRel);
}

/// Counts a capture that has ended.
pub(super) fn count_out(mode: CaptureMode) {
    GLOBAL.fetch_sub(usize::from(mode == CaptureMode::Global), Ordering::AcqRel);
    CAPTURES.fetch_sub(1, Ordering::AcqRel);
}

/// A mode that a thread has for a while.
pub(crate) struct Heeding {
    previous: CaptureMode,
}

impl Heeding {
    fn exchange(mode: CaptureMode) -> Heeding {
        driver::heed(mode);
        Heeding { previous: HEEDED.replace(mode) }
    }
}

impl Drop for Heeding {
    fn drop(&mut self) {
        driver::heed(self.previous);
        HEEDED.set(self.previous);
    }
}

impl CaptureMode {
    pub(super) fn number(self) -> CUstreamCaptureMode {
        match self {
            CaptureMode::Global => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
            CaptureMode::ThreadLocal => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            CaptureMode::Relaxed => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
        }
    }
}
