//! The names of streams.

use std::fmt;

use crate::types::Device;

/// The name of a stream: unique in a process, and never used again for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId {
    device: Device,
    /// 0 is the default stream.
    ordinal: u64,
}

impl StreamId {
    pub(crate) const fn new(device: Device, ordinal: u64) -> StreamId {
        StreamId { device, ordinal }
    }

    /// A name that no stream needs to have.
    #[cfg(test)]
    pub(crate) const fn of(device: u32, ordinal: u64) -> StreamId {
        StreamId { device: Device(device), ordinal }
    }

    /// The same as numbers, of which the first has 32 bits.
    #[inline]
    pub(crate) fn to_words(self) -> [u64; 2] {
        [u64::from(self.device.0), self.ordinal]
    }

    /// The name that [`to_words`](StreamId::to_words) made numbers of.
    pub(crate) fn from_words([device, ordinal]: [u64; 2]) -> StreamId {
        StreamId { device: Device(device as u32), ordinal }
    }

    /// The device of the stream.
    pub fn device(self) -> Device {
        self.device
    }

    /// Its number among the streams of its device; 0 is the default stream.
    pub fn number(self) -> u64 {
        self.ordinal
    }

    /// Whether it names the default stream of its device.
    pub fn is_default(self) -> bool {
        self.ordinal == 0
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ordinal {
            0 => write!(f, "{} default stream", self.device),
            ordinal => write!(f, "{} stream {ordinal}", self.device),
        }
    }
}
