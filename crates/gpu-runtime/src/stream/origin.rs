//! The origins of streams, to which they go back: the driver, the pool, other code.

use std::ffi::{c_int, c_void};
use std::ops::RangeInclusive;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use cuda_sys::{CU_STREAM_LEGACY, CUcontext, CUstream, CUstream_flags};
use parking_lot::Mutex;

use super::capture_slot::CaptureSlot;
use super::handle::{Stream, StreamInner};
use super::ledger::Ledger;
use super::{pool, registry};
use crate::device::{DeviceState, Handle, event_pool};
use crate::error::{Error, Result};
use crate::shared::{Edges, EventHistory};
use crate::types::{Device, StreamId};

/// Whose the driver's stream is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The device's, as long as the process lives.
    Default,
    /// Taken from the pool, or new, and given back to it.
    Pool,
    /// Somebody else's, who destroys it.
    Foreign,
}

/// The relation of a stream to the driver's legacy stream, the handle 0, which waits for the work of
/// some
/// streams by itself, and they for its.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Legacy {
    /// It is that stream.
    Itself,
    /// It waits for that stream, and is waited for.
    Ordered,
    /// Neither.
    Apart,
}

impl Stream {
    /// A stream that does not order itself against any other, with priority 0.
    ///
    /// The driver's stream behind it belongs to this one alone as long as a handle lives: the pool
    /// from which it comes has no fixed size, and no two streams share one. Where the last handle
    /// goes, it is kept for the next caller, up to 32 for each device and priority.
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
    /// use std::collections::HashSet;
    ///
    /// use gpu_runtime::{Device, Stream};
    ///
    /// let device = Device::get(0)?;
    /// let streams: Vec<_> = (0..100).map(|_| Stream::new(device)).collect::<Result<_, _>>()?;
    /// let handles: HashSet<_> = streams.iter().map(Stream::as_raw).collect();
    /// assert_eq!(handles.len(), 100);
    /// # Ok::<(), gpu_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver's, if it cannot create a stream.
    pub fn new(device: Device) -> Result<Stream> {
        Stream::pooled(device, 0)
    }

    /// As [`Stream::new`], with a priority: lower numbers run first. What is out of the device's
    /// range ([`Device::stream_priorities`]) is clamped; [`priority`](Stream::priority) tells what
    /// came of it.
    ///
    /// # Errors
    /// As [`Stream::new`].
    pub fn with_priority(device: Device, priority: i32) -> Result<Stream> {
        let range = device.stream_priorities()?;
        Stream::pooled(device, priority.clamp(*range.start(), *range.end()))
    }

    /// A stream that other code has made, and destroys. Dropped, it is left as it is.
    ///
    /// Since others enqueue on it, every point of the stream is taken to come after work that is not
    /// done yet, until the driver says so. A handle that a living stream of this device has already
    /// gives that stream.
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
    /// use gpu_runtime::{Device, Stream};
    ///
    /// let device = Device::get(0)?;
    /// let stream = Stream::new(device)?;
    /// // SAFETY: the handle is that of a living stream of this device.
    /// let same = unsafe { Stream::from_raw(device, stream.as_raw())? };
    /// assert_eq!(same, stream);
    /// # Ok::<(), gpu_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ForeignStream`] if it is not a stream of the device's primary context.
    ///
    /// # Safety
    /// `raw` is a `CUstream` of this driver, which is not destroyed before the last handle is
    /// dropped, and before the work is done that was enqueued through one. It is not the default
    /// stream of each thread (`CU_STREAM_PER_THREAD`), which is another one in every thread.
    pub unsafe fn from_raw(device: Device, raw: *mut c_void) -> Result<Stream> {
        let (state, raw) = (device.state(), raw.cast());
        if let Some(known) =
            registry::streams(device).into_iter().find(|stream| stream.raw() == raw)
        {
            return Ok(known);
        }
        let (mut context, mut priority): (CUcontext, c_int) = (null_mut(), 0);
        state.call("cuStreamGetCtx", |driver| {
            // SAFETY: the caller gives a stream, and `context` is writable.
            unsafe { (driver.cuStreamGetCtx)(raw, &mut context) }
        })?;
        if Handle(context) != state.context()? {
            return Err(Error::ForeignStream { device });
        }
        state.call("cuStreamGetPriority", |driver| {
            // SAFETY: the caller gives a stream, and `priority` is writable.
            unsafe { (driver.cuStreamGetPriority)(raw, &mut priority) }
        })?;
        let ordinal = registry::next_ordinal(device);
        let legacy = legacy_of(state, raw)?;
        Ok(Stream::of(device, ordinal, Handle(raw), priority, (Origin::Foreign, legacy)))
    }

    /// The driver's stream, a `CUstream`, for code outside of this crate. It lives as long as a
    /// handle does.
    ///
    /// From here on others may enqueue on it, and the runtime sees nothing of that: as with
    /// [`from_raw`](Stream::from_raw), every later point of the stream is taken to come after work
    /// that is not done yet. Memory that such work uses is the caller's to keep;
    /// [`Uses::record_stream`](crate::Uses::record_stream) helps.
    pub fn as_raw(&self) -> *mut c_void {
        self.0.shared.store(true, Ordering::Relaxed);
        self.raw().cast()
    }

    /// The stream's priority: lower numbers run first, and 0 is the default.
    pub fn priority(&self) -> i32 {
        self.0.priority
    }

    /// The default stream of a device. It is ordered with respect to foreign work on the driver's
    /// legacy stream, which the runtime itself never uses.
    pub(crate) fn create_default(device: Device) -> Result<Stream> {
        let raw = create(device.state(), CUstream_flags::CU_STREAM_DEFAULT, 0)?;
        Ok(Stream::of(device, 0, raw, 0, (Origin::Default, Legacy::Ordered)))
    }

    fn pooled(device: Device, priority: i32) -> Result<Stream> {
        let state = device.state();
        let raw = match pool::take(state, priority)? {
            Some(raw) => raw,
            None => create(state, CUstream_flags::CU_STREAM_NON_BLOCKING, priority)?,
        };
        let ordinal = registry::next_ordinal(device);
        Ok(Stream::of(device, ordinal, raw, priority, (Origin::Pool, Legacy::Apart)))
    }

    fn of(
        device: Device,
        ordinal: u64,
        raw: Handle<CUstream>,
        priority: i32,
        (origin, legacy): (Origin, Legacy),
    ) -> Stream {
        let state = device.state();
        let stream = Stream(Arc::new(StreamInner {
            id: StreamId::new(device, ordinal),
            raw,
            state,
            priority,
            origin,
            legacy,
            shared: AtomicBool::new(origin == Origin::Foreign),
            sequence: AtomicU64::new(0),
            history: EventHistory::new(),
            edges: Edges::new(),
            ledger: Ledger::new(),
            observed: Mutex::default(),
            captures: CaptureSlot::default(),
            keepers: AtomicUsize::new(0),
        }));
        registry::register(&stream);
        stream
    }
}

impl Device {
    /// The stream that work goes to unless another one is current, the same in every thread.
    ///
    /// # Errors
    /// The driver's, if it cannot create the stream at its first use.
    pub fn default_stream(self) -> Result<Stream> {
        self.default_stream_of_process().cloned()
    }

    #[inline]
    pub(crate) fn default_stream_of_process(self) -> Result<&'static Stream> {
        registry::default_stream(self, || Stream::create_default(self))
    }

    /// The priorities that streams of this device may have, the most urgent one first.
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
    /// use gpu_runtime::{Device, Stream};
    ///
    /// let device = Device::get(0)?;
    /// let priorities = device.stream_priorities()?;
    /// let urgent = Stream::with_priority(device, *priorities.start())?;
    /// assert!(priorities.contains(&0) && urgent.priority() <= 0);
    /// # Ok::<(), gpu_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver's.
    pub fn stream_priorities(self) -> Result<RangeInclusive<i32>> {
        let (mut least, mut greatest): (c_int, c_int) = (0, 0);
        self.state().call("cuCtxGetStreamPriorityRange", |driver| {
            // SAFETY: both are writable, and the device's context is current.
            unsafe { (driver.cuCtxGetStreamPriorityRange)(&mut least, &mut greatest) }
        })?;
        Ok(greatest..=least)
    }

    /// Gives the streams and events that are kept for reuse back to the driver. What is in use
    /// stays; nobody waits. Programs need it only to count what they left behind.
    pub fn release_idle_handles(self) {
        pool::clear(self.state());
        event_pool::clear(self.state());
    }
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        let kept = match self.origin {
            Origin::Foreign => true,
            // What others do with the handle is not known: it is never handed out again.
            _ if *self.shared.get_mut() || self.state.lost().is_some() => false,
            Origin::Pool => pool::put(self.state, self.priority, self.raw),
            Origin::Default => false,
        };
        if !kept {
            pool::destroy(self.state, self.raw);
        }
    }
}

/// The relation of other code's stream to the legacy stream.
fn legacy_of(state: &DeviceState, raw: CUstream) -> Result<Legacy> {
    if raw.is_null() || raw == CU_STREAM_LEGACY {
        return Ok(Legacy::Itself);
    }
    let mut flags = 0;
    state.call("cuStreamGetFlags", |driver| {
        // SAFETY: the caller of `from_raw` gives a stream, and `flags` is writable.
        unsafe { (driver.cuStreamGetFlags)(raw, &mut flags) }
    })?;
    let is_apart = flags & CUstream_flags::CU_STREAM_NON_BLOCKING.0 != 0;
    Ok(if is_apart { Legacy::Apart } else { Legacy::Ordered })
}

fn create(state: &DeviceState, flags: CUstream_flags, priority: i32) -> Result<Handle<CUstream>> {
    let mut raw: CUstream = null_mut();
    state.call("cuStreamCreateWithPriority", |driver| {
        // SAFETY: `raw` is writable, and the device's context is current.
        unsafe { (driver.cuStreamCreateWithPriority)(&mut raw, flags.0, priority as c_int) }
    })?;
    Ok(Handle(raw))
}
