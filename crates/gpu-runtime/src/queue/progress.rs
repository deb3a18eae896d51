//! Waiting for a stream's work, on the host and on other streams.

use std::mem;
use std::panic::Location;
use std::sync::Arc;

use cuda_sys::CUevent;

use super::enqueue::enqueue;
use super::retired;
use crate::device::{PooledEvent, capture_mode, check};
use crate::error::{Error, Result};
use crate::observe;
use crate::shared::RecordedEvent;
use crate::stream::{Request, Stream, captures};
use crate::types::{WaitReason, Work, WorkId};
use crate::wait::{WaitPermit, host_wait, wait_for_event, waited};

impl Stream {
    /// Makes later work on this stream wait for the first `sequence` pieces of another's; see
    /// [`wait_point`](Stream::wait_point).
    #[track_caller]
    pub(crate) fn wait_work(&self, other: &Stream, sequence: u64) -> Result<()> {
        if self == other {
            return Ok(());
        }
        if captures::of(self).is_some() {
            return Err(captures::outside("wait_point", self, other.id()));
        }
        if other.history().completed() >= sequence {
            self.comes_after(other, sequence);
            return Ok(());
        }
        let Some(edge) = self.edges().missing(other.id(), sequence) else { return Ok(()) };
        let place = Location::caller();
        let wait = |recorded: &RecordedEvent<Arc<PooledEvent>>| {
            let awaited = WorkId { stream: other.id(), sequence: recorded.sequence };
            self.enqueue_wait(place, recorded.event.raw(), awaited)?;
            edge.note(recorded.sequence);
            Ok(())
        };
        if other.history().with_covering(other, sequence, wait)?.is_none() {
            self.comes_after(other, sequence);
        }
        Ok(())
    }

    /// Makes later work on this stream wait for an event that was recorded after `awaited`, as is
    /// asked for at `place`.
    pub(crate) fn enqueue_wait(
        &self,
        place: &'static Location<'static>,
        event: CUevent,
        awaited: WorkId,
    ) -> Result<()> {
        let request = Request::new(&Work::Wait, "cuStreamWaitEvent");
        let request = Request { place, awaits: Some(awaited), ..request };
        enqueue(self, &request, |driver, stream| {
            // SAFETY: the caller keeps the event until this call returns, and the driver remembers
            // by itself what the event stood for.
            unsafe { (driver.cuStreamWaitEvent)(stream, event, 0) }
        })
        .into_result()
    }

    /// Tells observers that later work on this stream comes after another's work, which is past.
    #[inline]
    pub(crate) fn comes_after(&self, other: &Stream, sequence: u64) {
        if observe::is_observed() {
            observe::told_awaited(self, WorkId { stream: other.id(), sequence });
        }
    }

    /// Records an event now, if work was enqueued since the newest one, so that who later waits for
    /// this work waits for nothing else. A failure only costs that precision.
    #[track_caller]
    pub(crate) fn mark(&self) {
        if captures::of(self).is_some() {
            return;
        }
        if let Err(error) = self.history().mark(self) {
            tracing::debug!(%error, stream = %self.id(), "no event recorded");
        }
    }

    /// Blocks until all work enqueued so far is done.
    pub(crate) fn synchronize_with(&self, permit: WaitPermit) -> Result<()> {
        let awaited = WorkId { stream: self.id(), sequence: self.sequence() };
        host_wait(self.state(), permit, &[awaited], "cuStreamSynchronize", |driver| {
            // SAFETY: the stream lives as long as `self`.
            unsafe { (driver.cuStreamSynchronize)(self.raw()) }
        })?;
        self.history().reached(awaited.sequence);
        retired::collect_values();
        Ok(())
    }

    /// Blocks until the first `sequence` pieces of work are done.
    #[track_caller]
    pub(crate) fn wait_for(&self, sequence: u64) -> Result<()> {
        if self.history().completed() >= sequence {
            observe::learned(|| WorkId { stream: self.id(), sequence });
            return Ok(());
        }
        self.wait_with(WaitPermit::ask(self.device(), WaitReason::Point)?, sequence)
    }

    /// As [`wait_for`](Stream::wait_for), with a permit that was asked for before.
    pub(crate) fn wait_with(&self, permit: WaitPermit, sequence: u64) -> Result<()> {
        match self.history().covering(self, sequence)? {
            Some(recorded) => {
                let awaited = WorkId { stream: self.id(), sequence: recorded.sequence };
                wait_for_event(self.state(), recorded.event.handle(), permit, awaited)?;
                self.history().reached(recorded.sequence);
            }
            None => observe::learned(|| WorkId { stream: self.id(), sequence }),
        }
        retired::collect_values();
        Ok(())
    }

    /// Enqueues a copy that uses what is lent to it until this returns, and blocks until it is done.
    /// However this ends, by an error or a panic too, the copy does not use it any more.
    #[track_caller]
    pub(crate) fn lend(
        &self,
        permit: WaitPermit,
        enqueue: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        /// Waits for everything on the stream where a panic has kept others from waiting for the copy.
        struct Lent<'a>(&'a Stream);
        impl Drop for Lent<'_> {
            fn drop(&mut self) {
                if let Err(error) = self.0.settle_at_once() {
                    tracing::debug!(%error, stream = %self.0.id(), "not waited for");
                }
            }
        }
        let lent = Lent(self);
        // What has failed is not on its way: see `enqueue`.
        let done = enqueue().and_then(|()| self.settle(permit, self.sequence()));
        mem::forget(lent);
        done
    }

    /// Blocks until the first `sequence` pieces of work are done, which use what is lent to them. Where
    /// that cannot be waited for, it waits for the whole stream.
    ///
    /// # Errors
    /// Only if the work does not go on: the device is lost, or the driver has failed altogether.
    pub(crate) fn settle(&self, permit: WaitPermit, sequence: u64) -> Result<()> {
        match self.wait_with(permit, sequence) {
            // A lost device uses nothing any more.
            waited @ (Ok(()) | Err(Error::DeviceLost { .. })) => waited,
            Err(_) => self.settle_at_once(),
        }
    }

    /// Blocks until everything on the stream is done, whether or not anybody may wait. It needs
    /// nothing for that but the driver's call.
    #[cold]
    pub(crate) fn settle_at_once(&self) -> Result<()> {
        self.settle_with(WaitPermit::not_asked_for(self.device(), WaitReason::Point))
    }

    /// The same, with a permit that was asked for before. It runs no destructors.
    #[cold]
    pub(crate) fn settle_with(&self, permit: WaitPermit) -> Result<()> {
        let _allowed = capture_mode::relaxed();
        let (state, call) = (self.state(), "cuStreamSynchronize");
        state.bind()?;
        let awaited = WorkId { stream: self.id(), sequence: self.sequence() };
        let result = waited(state, permit, &[awaited], call, || {
            // SAFETY: the stream lives as long as `self`.
            unsafe { (state.driver.cuStreamSynchronize)(self.raw()) }
        });
        check::on_stream(state, self.id(), call, result)?;
        self.history().reached(awaited.sequence);
        Ok(())
    }

    /// Whether the first `sequence` pieces of work are done.
    #[track_caller]
    pub(crate) fn has_reached(&self, sequence: u64) -> Result<bool> {
        if self.history().completed() >= sequence {
            return Ok(true);
        }
        match self.history().covering(self, sequence)? {
            None => Ok(true),
            Some(recorded) => {
                let reached = recorded.event.is_complete()?;
                if reached {
                    self.history().reached(recorded.sequence);
                }
                Ok(reached)
            }
        }
    }
}
