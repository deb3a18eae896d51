//! Places on the streams of ranks that others wait for.

use std::sync::Arc;

use gpu_runtime::{Event, Result, Stream, StreamPoint};

/// A place on a rank's stream: what a signal of a plan is on a device.
#[derive(Clone, Debug)]
pub(crate) enum LaneMark {
    /// A point after a copy, where the runtime has recorded an event by itself.
    Point(StreamPoint),
    /// An event that was recorded for it.
    Event(Arc<Event>),
}

impl LaneMark {
    /// Makes later work on a stream come after the place.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn wait(&self, stream: &Stream) -> Result<()> {
        match self {
            LaneMark::Point(point) => stream.wait_point(point),
            LaneMark::Event(event) => event.wait(stream),
        }
    }
}
