//! When operations began and ended, for who asks.

use std::cell::Cell;
use std::ops::Range;
use std::time::Duration;

use super::position::StreamPosition;

/// An operation: a stream, and a number among its operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId {
    /// The number of the stream, in the order in which streams were made.
    pub stream: u64,
    /// The number among what the stream was given.
    pub sequence: u64,
}

/// The times of operations, noted as long as somebody asks for them.
#[derive(Debug, Default)]
pub(super) struct Spans {
    told: Option<Vec<(OperationId, Range<Duration>)>>,
}

thread_local! {
    static LAST: Cell<Option<OperationId>> = const { Cell::new(None) };
}

impl Spans {
    pub(super) fn tell(&mut self, told: bool) {
        self.told = told.then(Vec::new);
    }

    pub(super) fn note(&mut self, at: StreamPosition, begin: u64, end: u64) {
        if let Some(told) = &mut self.told {
            told.push((at.into(), Duration::from_nanos(begin)..Duration::from_nanos(end)));
        }
    }

    pub(super) fn take(&mut self) -> Vec<(OperationId, Range<Duration>)> {
        self.told.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

/// The calling thread has enqueued an operation.
pub(super) fn note_last(at: StreamPosition) {
    LAST.set(Some(at.into()));
}

/// The operation that the calling thread enqueued last, unless it was asked since.
pub(crate) fn take_last() -> Option<OperationId> {
    LAST.take()
}

impl From<StreamPosition> for OperationId {
    fn from(at: StreamPosition) -> OperationId {
        OperationId { stream: at.stream, sequence: at.sequence }
    }
}
