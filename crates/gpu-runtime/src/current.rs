//! The current device and the current streams of a thread, and the guards that change them.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::rc::Rc;

use crate::error::Result;
use crate::stream::Stream;
use crate::types::Device;

thread_local! {
    /// Has no destructor, so it can be asked until the thread's very end.
    static DEVICE: Cell<u32> = const { Cell::new(0) };
    /// By device; a device without an entry is on its default stream.
    static STREAMS: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
}

/// A stream that a thread made current, if it did. The count of its handles within the thread needs
/// no atomic operation, which the look-up of the current stream would mostly consist of.
type Entered = Option<Rc<Stream>>;

/// The stream that was current in this thread when it was asked for
/// ([`Device::current_stream_ref`]): it can be used as a [`Stream`], and stays in its thread.
/// `clone()` gives a handle that can leave it.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{Device, Stream};
///
/// let current = Device::get(0)?.current_stream_ref()?;
/// current.synchronize()?;
/// let stream: Stream = current.clone();
/// std::thread::spawn(move || stream.is_default()).join().unwrap();
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
pub struct CurrentStream(CurrentOrDefault);

enum CurrentOrDefault {
    Default(&'static Stream),
    Entered(Rc<Stream>),
}

impl CurrentStream {
    #[inline]
    pub(crate) fn of(device: Device) -> Result<CurrentStream> {
        // In a thread that is past its destructors no stream is entered.
        let entered = STREAMS.try_with(|streams| {
            streams
                .borrow()
                .get(device.index())
                .and_then(Clone::clone)
                .map(CurrentOrDefault::Entered)
        });
        match entered.ok().flatten() {
            Some(entered) => Ok(CurrentStream(entered)),
            None => {
                device.default_stream_of_process().map(CurrentOrDefault::Default).map(CurrentStream)
            }
        }
    }
}

impl Deref for CurrentStream {
    type Target = Stream;

    #[inline]
    fn deref(&self) -> &Stream {
        match &self.0 {
            CurrentOrDefault::Default(stream) => stream,
            CurrentOrDefault::Entered(stream) => stream,
        }
    }
}

impl PartialEq<Stream> for CurrentStream {
    fn eq(&self, other: &Stream) -> bool {
        **self == *other
    }
}

impl fmt::Debug for CurrentStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// Makes a device current until it is dropped; see [`Device::enter`].
///
/// It restores the device that was current when it was made: at the end of its scope, on `?`, on a
/// panic. Guards that are dropped out of order each restore what they saw, so the last one dropped
/// decides. One that is forgotten ([`std::mem::forget`]) never restores; the thread stays on the
/// device.
#[must_use = "the device is current only until the guard is dropped"]
#[derive(Debug)]
pub struct DeviceGuard {
    previous: u32,
    _of_this_thread: PhantomData<*const ()>,
}

/// Makes a stream and its device current until it is dropped; see [`Stream::enter`].
///
/// It restores the device that was current when it was made, and the stream that was then current
/// *on the stream's device*. As with [`DeviceGuard`], the last one dropped decides, and a forgotten
/// one never restores. Where it ends, the stream's work so far becomes something that can be waited
/// for exactly (see [`StreamPoint`](crate::StreamPoint)).
#[must_use = "the stream is current only until the guard is dropped"]
#[derive(Debug)]
pub struct StreamGuard {
    stream: Rc<Stream>,
    previous_stream: Entered,
    previous_device: u32,
}

/// Runs `f` with `device` as the current device of this thread.
///
/// # Errors
/// As [`Device::enter`]; `f` is not called then.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(2) })?;
/// use gpu_runtime::{Device, with_device};
///
/// let inner = with_device(Device::get(1)?, || Device::current())??;
/// assert_eq!(inner.index(), 1);
/// assert_eq!(Device::current()?.index(), 0);
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
pub fn with_device<R>(device: Device, f: impl FnOnce() -> R) -> Result<R> {
    let _entered = device.enter()?;
    Ok(f())
}

/// Runs `f` with `stream` as the current stream of its device, and that device as the current one.
///
/// # Errors
/// As [`Stream::enter`]; `f` is not called then.
pub fn with_stream<R>(stream: &Stream, f: impl FnOnce() -> R) -> Result<R> {
    let _entered = stream.enter()?;
    Ok(f())
}

impl Device {
    /// The current stream of this device in this thread; see [`Stream::enter`].
    ///
    /// # Errors
    /// As [`Device::default_stream`].
    pub fn current_stream(self) -> Result<Stream> {
        Ok(self.current_stream_ref()?.clone())
    }

    /// The same without a handle of its own, for who only enqueues something: two to three
    /// nanoseconds, and no atomic operation.
    ///
    /// # Errors
    /// As [`Device::default_stream`].
    #[inline]
    pub fn current_stream_ref(self) -> Result<CurrentStream> {
        CurrentStream::of(self)
    }

    /// Makes the device current in this thread until the guard is dropped.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost).
    pub fn enter(self) -> Result<DeviceGuard> {
        self.usable()?;
        Ok(DeviceGuard { previous: replace_device(self.0), _of_this_thread: PhantomData })
    }

    /// Makes the device current in this thread, until something else does so. [`Device::enter`] is
    /// the scoped way.
    pub fn make_current(self) {
        replace_device(self.0);
    }
}

impl Stream {
    /// Makes the stream current on its device, and the device current in this thread, until the
    /// guard is dropped.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost).
    pub fn enter(&self) -> Result<StreamGuard> {
        self.device().usable()?;
        let stream = Rc::new(self.clone());
        Ok(StreamGuard {
            previous_stream: replace_stream(self.device(), Some(Rc::clone(&stream))),
            previous_device: replace_device(self.device().0),
            stream,
        })
    }
}

impl Drop for DeviceGuard {
    fn drop(&mut self) {
        replace_device(self.previous);
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        replace_stream(self.stream.device(), self.previous_stream.take());
        replace_device(self.previous_device);
        self.stream.mark();
    }
}

/// The index of the current device.
pub(crate) fn device_index() -> u32 {
    DEVICE.get()
}

pub(crate) fn replace_device(index: u32) -> u32 {
    DEVICE.replace(index)
}

/// By device, the streams that the thread made current.
pub(crate) fn streams() -> Vec<Option<Stream>> {
    let clone = |streams: &RefCell<Vec<Entered>>| shared(&streams.borrow());
    STREAMS.try_with(clone).unwrap_or_default()
}

/// Returns the streams that were current. In a thread that is past its destructors nothing is.
pub(crate) fn replace_streams(new: Vec<Option<Stream>>) -> Vec<Option<Stream>> {
    let new = new.into_iter().map(|stream| stream.map(Rc::new)).collect();
    let old = STREAMS.try_with(|streams| streams.replace(new)).unwrap_or_default();
    shared(&old)
}

/// The same streams, which may go to other threads.
fn shared(entered: &[Entered]) -> Vec<Option<Stream>> {
    entered.iter().map(|stream| stream.as_deref().cloned()).collect()
}

/// The old stream is returned and not dropped in here: a stream's destructor may use other streams.
fn replace_stream(device: Device, new: Entered) -> Entered {
    let replace = |streams: &RefCell<Vec<Entered>>| {
        let mut streams = streams.borrow_mut();
        if streams.len() <= device.index() {
            streams.resize(device.index() + 1, None);
        }
        std::mem::replace(&mut streams[device.index()], new)
    };
    STREAMS.try_with(replace).ok().flatten()
}
