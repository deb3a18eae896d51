//! Positions in streams.

/// The place of a stream in the order in which streams were made.
pub(crate) type StreamOrdinal = u64;

/// A position in a stream: all its operations up to one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    pub(crate) stream: StreamOrdinal,
    pub(crate) sequence: u64,
}

impl StreamPosition {
    /// Whether it is reached when `done` is.
    pub(super) fn is_by(self, done: StreamPosition) -> bool {
        self.stream == done.stream && self.sequence <= done.sequence
    }
}
