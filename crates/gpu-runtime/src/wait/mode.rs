//! The ledger of waits: where the host waited for devices, why and for how long, and whether it may.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use crate::shared::Recent;
use crate::types::{Device, WaitReason};

/// The consequence of a wait of the host for a device; PyTorch's `torch.cuda.set_sync_debug_mode`.
///
/// A program that is to keep its devices busy must not wait for them by accident. The mode says so,
/// for the process ([`set_wait_mode`]) or for a part of what one thread does ([`WaitMode::enter`]).
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{Device, Error, WaitMode, with_wait_mode};
///
/// let stream = Device::get(0)?.default_stream()?;
/// let pending = with_wait_mode(WaitMode::Fail, || {
///     let buffer = stream.copy_htod(&[1.0f32, 2.0, 3.0])?;
///     stream.copy_dtoh(&buffer)
/// })?;
/// let refused = with_wait_mode(WaitMode::Fail, || stream.synchronize());
/// assert!(matches!(refused, Err(Error::WaitRefused { .. })));
/// assert_eq!(pending.wait()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
///
/// Every wait that a function of this crate is documented to make counts, but for what the driver
/// does by itself where memory is allocated or freed. Nothing counts where it is known that there
/// is nothing to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum WaitMode {
    /// Nobody looks at it.
    #[default]
    Off,
    /// It is recorded in the ledger ([`take_waits`]).
    Record,
    /// It is recorded, and a `tracing` warning tells of it.
    Warn,
    /// The function that would wait returns [`Error::WaitRefused`](crate::Error::WaitRefused) before it does anything. What
    /// `CUDA_LAUNCH_BLOCKING=1` or a [`Timeline`](crate::Timeline) waits for is not refused.
    Fail,
}

/// A wait of the host, as the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitRecord {
    /// The device that was waited for.
    pub device: Device,
    /// The reason.
    pub reason: WaitReason,
    /// The place in the source that asked for it: see [`at_place`](crate::at_place).
    pub place: &'static Location<'static>,
    /// The time that it took, by the clock of this machine.
    pub duration: Duration,
}

/// Restores the thread's mode when dropped: what held when it was made. The last one dropped
/// decides, and a forgotten one never restores.
#[must_use = "the mode holds only until the guard is dropped"]
#[derive(Debug)]
pub struct WaitModeGuard {
    previous: Option<WaitMode>,
    _of_this_thread: PhantomData<*const ()>,
}

/// The number of waits that the ledger has room for.
const REMEMBERED: usize = 4096;

static PROCESS: AtomicU8 = AtomicU8::new(WaitMode::Off as u8);
static LEDGER: LazyLock<Recent<WaitRecord>> = LazyLock::new(|| Recent::new(REMEMBERED));

thread_local! {
    static THREAD: Cell<Option<WaitMode>> = const { Cell::new(None) };
}

/// Sets the mode of all threads that have none of their own. Returns the one before.
pub fn set_wait_mode(mode: WaitMode) -> WaitMode {
    WaitMode::from_number(PROCESS.swap(mode as u8, Ordering::Relaxed))
}

/// The mode of the calling thread.
pub fn wait_mode() -> WaitMode {
    THREAD.get().unwrap_or_else(|| WaitMode::from_number(PROCESS.load(Ordering::Relaxed)))
}

/// Runs `f` with that mode in this thread. The mode before is restored afterwards, also on a panic.
pub fn with_wait_mode<R>(mode: WaitMode, f: impl FnOnce() -> R) -> R {
    let _entered = mode.enter();
    f()
}

/// The waits in the ledger, oldest first, and forgets them. It keeps the newest 4096.
pub fn take_waits() -> Vec<WaitRecord> {
    LEDGER.take_all().into()
}

impl WaitMode {
    /// Makes this the mode of the calling thread until the guard is dropped, whatever the process's
    /// mode is. [`ExecutionContext`](crate::ExecutionContext) carries it to other threads.
    pub fn enter(self) -> WaitModeGuard {
        WaitModeGuard { previous: replace_mode(Some(self)), _of_this_thread: PhantomData }
    }

    fn from_number(number: u8) -> WaitMode {
        let all = [WaitMode::Off, WaitMode::Record, WaitMode::Warn, WaitMode::Fail];
        all.into_iter().find(|mode| *mode as u8 == number).unwrap_or_default()
    }
}

impl Drop for WaitModeGuard {
    fn drop(&mut self) {
        replace_mode(self.previous);
    }
}

/// Enters a wait into the ledger, and with `WaitMode::Warn` tells `tracing` of it.
pub(super) fn note(record: WaitRecord, mode: WaitMode) {
    if mode == WaitMode::Warn {
        tracing::warn!(target: "gpu_runtime::wait", "{record}");
    }
    LEDGER.note(record);
}

/// The mode that this thread has of its own.
pub(crate) fn mode_of_thread() -> Option<WaitMode> {
    THREAD.get()
}

pub(crate) fn replace_mode(mode: Option<WaitMode>) -> Option<WaitMode> {
    THREAD.replace(mode)
}

impl fmt::Display for WaitRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WaitRecord { device, reason, place, duration } = self;
        write!(f, "the host waited for {device} for {duration:?}: {reason}, at {place}")
    }
}
