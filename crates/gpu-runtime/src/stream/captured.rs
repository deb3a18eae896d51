//! A stream's part in captures.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError, RwLockReadGuard};

use crate::error::{Error, Result};
use crate::graph::{self, Awaited, Books, CaptureProblem};
use crate::stream::Stream;

impl Stream {
    /// The capture that the stream takes part in.
    pub(crate) fn capture_slot(&self) -> MutexGuard<'_, Option<Arc<Books>>> {
        self.0.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the stream part of a capture. Its work so far gets an event before: nobody can record
    /// one for it while the stream is captured.
    ///
    /// # Errors
    /// [`CaptureProblem::StreamTaken`] if it is part of one already, and the driver's.
    pub(crate) fn enter_capture(&self, operation: &'static str, books: &Arc<Books>) -> Result<()> {
        let taken = Err(Error::Capture {
            operation,
            problem: CaptureProblem::StreamTaken { stream: self.id() },
        });
        // Nobody else enters one meanwhile, and what must run either has an event or finds the capture.
        let _entering = self.0.entrance.write().unwrap_or_else(PoisonError::into_inner);
        if self.capture_slot().is_some() {
            return taken;
        }
        self.0.milestones.mark(self)?;
        *self.capture_slot() = Some(Arc::clone(books));
        // Before the driver captures anything: who has enqueued something, and finds this number
        // changed, knows that it may have been captured.
        self.0.captures.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Keeps the stream from entering a capture as long as the guard lives; nothing if it takes part
    /// in one.
    pub(crate) fn keep_captures_out(&self) -> Option<RwLockReadGuard<'_, ()>> {
        let apart = self.0.entrance.read().unwrap_or_else(PoisonError::into_inner);
        self.capture_slot().is_none().then_some(apart)
    }

    /// In how many captures the stream took part, the present one included.
    #[inline]
    pub(crate) fn captures(&self) -> u64 {
        self.0.captures.load(Ordering::Acquire)
    }

    /// Ends the stream's part in its capture.
    pub(crate) fn leave_capture(&self) {
        // Dropped outside of the lock.
        let _books = self.capture_slot().take();
    }

    /// That what is enqueued here runs.
    ///
    /// # Errors
    /// [`CaptureProblem::NothingRuns`] if the stream is being captured.
    #[inline]
    pub(crate) fn runs(&self, operation: &'static str) -> Result<()> {
        match graph::of(self) {
            None => Ok(()),
            Some(_) => Err(graph::nothing_runs(operation, self)),
        }
    }

    /// Makes what is captured here come after what was captured on another stream so far.
    pub(crate) fn wait_captured(
        &self,
        operation: &'static str,
        capture: &Arc<Books>,
        other: &Stream,
    ) -> Result<()> {
        match capture.awaited(other) {
            Some(awaited) => self.wait_for_captured(operation, capture, other, &awaited),
            // It ended meanwhile.
            None => self.wait_point(&other.point()),
        }
    }

    /// Makes what is captured here come after what is awaited on another stream.
    ///
    /// # Errors
    /// [`CaptureProblem::TwoCaptures`] if this stream takes part in another capture,
    /// [`CaptureProblem::Over`] if that of the other stream has ended.
    pub(crate) fn wait_for_captured(
        &self,
        operation: &'static str,
        capture: &Arc<Books>,
        other: &Stream,
        awaited: &Awaited,
    ) -> Result<()> {
        let (stream, other) = (self.id(), other.id());
        let problem = match graph::of(self) {
            Some(own) if !Arc::ptr_eq(&own, capture) => {
                CaptureProblem::TwoCaptures { stream, awaited: other }
            }
            _ if capture.wait_for(self, awaited)? => return Ok(()),
            _ => CaptureProblem::Over,
        };
        Err(Error::Capture { operation, problem })
    }
}
