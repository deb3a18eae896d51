//! Points of a stream: "everything enqueued so far", as a value.

use std::fmt;

use crate::error::Result;
use crate::observe;
use crate::stream::Stream;
use crate::types::{WaitReason, WorkId};
use crate::wait::WaitPermit;

/// A point between two pieces of work on a stream: what came before it, and nothing after.
///
/// To take a point costs nothing at the driver. When somebody waits for one, an event that was
/// recorded after it is used, or recorded then. Such a late event also stands for the work that was
/// enqueued between the point and the wait; to bound that, the runtime records an event at once
/// after each copy and where a [`StreamGuard`](crate::StreamGuard) ends.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{Device, Stream};
///
/// let stream = Stream::new(Device::get(0)?)?;
/// let point = stream.point();
/// point.wait()?;
/// assert!(point.is_complete()?);
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StreamPoint {
    stream: Stream,
    sequence: u64,
}

impl StreamPoint {
    pub(crate) fn new(stream: Stream, sequence: u64) -> StreamPoint {
        StreamPoint { stream, sequence }
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The number of pieces of the stream's work that come before the point.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Blocks until the stream has passed the point.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if work before it failed.
    #[track_caller]
    pub fn wait(&self) -> Result<()> {
        self.stream.wait_for(self.sequence)
    }

    /// Blocks until the stream has passed the point, for who has lent memory to the work before it: as
    /// [`wait`](StreamPoint::wait), but where that refuses or fails, it waits for everything on the
    /// stream, whatever forbids it.
    ///
    /// # Errors
    /// Those of `wait` that leave nothing in use: [`Error::DeviceLost`](crate::Error::DeviceLost), or
    /// the driver's where it does not work at all any more.
    #[track_caller]
    pub fn settle(&self) -> Result<()> {
        self.stream.settle(
            WaitPermit::not_asked_for(self.stream.device(), WaitReason::Point),
            self.sequence,
        )
    }

    /// Whether the stream has passed the point. It does not wait.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if work before it failed.
    #[track_caller]
    pub fn is_complete(&self) -> Result<bool> {
        let is_complete = self.is_past()?;
        if is_complete {
            observe::learned(|| self.work());
        }
        Ok(is_complete)
    }

    /// As [`is_complete`](StreamPoint::is_complete), of which the program learns nothing.
    #[track_caller]
    pub(crate) fn is_past(&self) -> Result<bool> {
        self.stream.has_reached(self.sequence)
    }

    /// The work before the point, by its name.
    pub fn work(&self) -> WorkId {
        WorkId { stream: self.stream.id(), sequence: self.sequence }
    }

    /// Moves the point to the end of what is enqueued by now on the same stream.
    pub(crate) fn advance(&mut self) {
        self.sequence = self.stream.now();
    }
}

impl fmt::Debug for StreamPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamPoint({} after {})", self.stream, self.sequence)
    }
}
