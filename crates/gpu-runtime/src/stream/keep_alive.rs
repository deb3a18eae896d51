//! Handles of streams for those who only want to know how far they are.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::handle::Stream;

/// A handle of a stream that keeps it alive and counts as nobody's: where only such handles are
/// left, the stream [is abandoned](StreamKeepAlive::is_abandoned).
///
/// An allocator has one for each stream whose work may use memory that was freed.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{Device, StreamKeepAlive, Stream};
///
/// let stream = Stream::new(Device::get(0)?)?;
/// let kept = [StreamKeepAlive::new(&stream), StreamKeepAlive::new(&stream)];
/// assert!(!kept[0].is_abandoned());
/// drop(stream);
/// assert!(kept[0].is_abandoned());
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
#[derive(Debug)]
pub struct StreamKeepAlive(Stream);

impl StreamKeepAlive {
    /// One more handle of a stream.
    pub fn new(stream: &Stream) -> StreamKeepAlive {
        StreamKeepAlive::from(stream.clone())
    }

    /// Whether nobody has another handle: neither the program, nor the uses of memory that is held,
    /// nor what is kept for work that is on its way.
    ///
    /// Where other threads make and drop such handles meanwhile, it may be mistaken; and
    /// [`Stream::from_raw`] makes a new handle of an abandoned stream.
    pub fn is_abandoned(&self) -> bool {
        Arc::strong_count(&self.0.0) <= self.0.0.keepers.load(Ordering::Relaxed)
    }
}

impl From<Stream> for StreamKeepAlive {
    /// The same handle, which counts as nobody's from here on.
    fn from(stream: Stream) -> StreamKeepAlive {
        stream.0.keepers.fetch_add(1, Ordering::Relaxed);
        StreamKeepAlive(stream)
    }
}

impl Deref for StreamKeepAlive {
    type Target = Stream;

    fn deref(&self) -> &Stream {
        &self.0
    }
}

impl Drop for StreamKeepAlive {
    fn drop(&mut self) {
        self.0.0.keepers.fetch_sub(1, Ordering::Relaxed);
    }
}
