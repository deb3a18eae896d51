//! Events that cannot do what was asked of them.

use crate::types::{Device, StreamId};

/// Why an event cannot do what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventProblem {
    /// Elapsed times need [`Event::with_timing`](crate::Event::with_timing).
    #[error("the event was made without timing; make it with Event::with_timing()")]
    WithoutTiming,
    /// The event was never recorded.
    #[error("the event was never recorded")]
    NotRecorded,
    /// The stream has not reached the event yet.
    #[error("the event is not complete yet; synchronize it first")]
    NotComplete,
    /// An event belongs to the device on which it was recorded first.
    #[error("the event belongs to {event}, the stream is {stream}")]
    OtherDevice {
        /// The event's device.
        event: Device,
        /// The stream that it should be recorded on.
        stream: StreamId,
    },
    /// The event was recorded in a capture, where no time passes.
    #[error("the event was recorded in a capture, where nothing runs")]
    Captured,
    /// Time passes only between events of one device.
    #[error("the start was recorded on {start}, the end on {end}")]
    TwoDevices {
        /// The device of the start.
        start: Device,
        /// The device of the end.
        end: Device,
    },
}
