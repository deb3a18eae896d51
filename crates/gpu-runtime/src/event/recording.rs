//! The newest recording of an event, and the point that it stands for.

use std::fmt;
use std::panic::RefUnwindSafe;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::capture::{CaptureState, CapturedPoint};
use crate::shared::{HeldWords, Words};
use crate::stream::Stream;
use crate::types::{StreamId, WorkId};

/// The newest recording. Its lock is held while the driver records the event or has a stream wait
/// for it; neither waits for anything.
pub(super) struct Recording {
    /// The device, from 1, and the number of the stream, and how many pieces of its work; nothing if
    /// there is no recording.
    work: Words<3>,
    /// Whether it is of what was captured, in which the driver's event has no part. Who only asks
    /// the driver about the event looks here, and needs no lock.
    is_captured: AtomicBool,
    captured: Mutex<Option<Captured>>,
}

/// The recording, locked.
pub(super) struct HeldRecording<'a> {
    recording: &'a Recording,
    work: HeldWords<'a, 3>,
}

/// The point that a recorded event stands for.
pub(super) enum RecordedPoint {
    /// So many pieces of a stream's work.
    Work(WorkId),
    /// Work that was captured.
    Captured(Captured),
}

/// A point of the work that was captured on a stream.
#[derive(Clone)]
pub(super) struct Captured {
    pub(super) stream: Stream,
    pub(super) capture: Weak<CaptureState>,
    pub(super) point: CapturedPoint,
}

// What its locks guard is whole whenever other code can run, also after a panic.
impl RefUnwindSafe for Recording {}

impl Recording {
    pub(super) fn new() -> Recording {
        let (is_captured, captured) = (AtomicBool::new(false), Mutex::new(None));
        Recording { work: Words::new(), is_captured, captured }
    }

    #[inline]
    pub(super) fn lock(&self) -> HeldRecording<'_> {
        HeldRecording { recording: self, work: self.work.lock() }
    }

    #[inline]
    pub(super) fn is_captured(&self) -> bool {
        self.is_captured.load(Ordering::Acquire)
    }

    fn set_captured(&self, captured: Option<Captured>) {
        self.is_captured.store(captured.is_some(), Ordering::Release);
        *self.captured.lock() = captured;
    }
}

impl HeldRecording<'_> {
    /// The point that the newest recording stands for, if there was one.
    pub(super) fn get(&self) -> Option<RecordedPoint> {
        if self.recording.is_captured() {
            let captured = self.recording.captured.lock();
            return captured.clone().map(RecordedPoint::Captured);
        }
        let [device, ordinal, sequence] = self.work.get();
        let stream = StreamId::from_words([device.checked_sub(1)?, ordinal]);
        Some(RecordedPoint::Work(WorkId { stream, sequence }))
    }

    /// The event was recorded, after that work.
    #[inline]
    pub(super) fn set_work(&mut self, WorkId { stream, sequence }: WorkId) {
        let [device, ordinal] = stream.to_words();
        self.work.set([device + 1, ordinal, sequence]);
        if self.recording.is_captured() {
            self.recording.set_captured(None);
        }
    }

    /// The event stands for that.
    pub(super) fn set_captured(&mut self, captured: Captured) {
        self.recording.set_captured(Some(captured));
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(work) = self.work.try_lock() else { return f.write_str("locked") };
        match (HeldRecording { recording: self, work }).get() {
            None => f.write_str("none"),
            Some(RecordedPoint::Work(WorkId { stream, sequence })) => {
                write!(f, "{stream} after {sequence}")
            }
            Some(RecordedPoint::Captured(Captured { stream, .. })) => {
                write!(f, "captured on {stream}")
            }
        }
    }
}
