//! What the rest of the runtime does with a stream: count its work, and follow how far it is.

use std::mem;
use std::panic::Location;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use cuda_sys::{CUevent, CUstream};

use crate::check;
use crate::device_state::DeviceState;
use crate::enqueue::enqueue;
use crate::error::{Error, Result};
use crate::event_pool::PooledEvent;
use crate::graph;
use crate::ledger::{LaunchRecord, Work};
use crate::observe::{self, Request, WaitReason, WorkId};
use crate::retired;
use crate::shared::Milestone;
use crate::stream::{Legacy, Stream, StreamId, StreamInner};
use crate::wait::{host_wait, waited};
use crate::waits::Leave;

impl Stream {
    #[inline]
    pub(crate) fn state(&self) -> &'static DeviceState {
        self.0.state
    }

    #[inline]
    pub(crate) fn raw(&self) -> CUstream {
        self.0.raw.0
    }

    #[inline]
    pub(crate) fn legacy(&self) -> Legacy {
        self.0.legacy
    }

    pub(crate) fn downgrade(&self) -> Weak<StreamInner> {
        Arc::downgrade(&self.0)
    }

    pub(crate) fn upgrade(stream: &Weak<StreamInner>) -> Option<Stream> {
        stream.upgrade().map(Stream)
    }

    /// The number of the point after everything enqueued so far. Where others may enqueue as well,
    /// what they did counts as one more piece of work, each time that anybody asks.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        if !self.0.shared.load(Ordering::Relaxed) {
            return self.sequence();
        }
        let sequence = self.0.sequence.fetch_add(1, Ordering::AcqRel) + 1;
        self.0.ledger.pass(sequence);
        sequence
    }

    /// Counts and notes a piece of work that the driver took. Its number, or for what is not
    /// counted that of the newest work.
    #[inline]
    pub(crate) fn enqueued(&self, work: &Work) -> u64 {
        if !work.advances() {
            return self.sequence();
        }
        let sequence = self.0.sequence.fetch_add(1, Ordering::AcqRel) + 1;
        self.0.ledger.note(sequence, work);
        sequence
    }

    /// Keeps other threads from enqueuing here while observers are told of something.
    pub(crate) fn lock_for_observers(&self) -> MutexGuard<'_, ()> {
        self.0.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes later work on this stream wait for the first `sequence` pieces of another's; see
    /// [`wait_point`](Stream::wait_point).
    #[track_caller]
    pub(crate) fn wait_work(&self, other: &Stream, sequence: u64) -> Result<()> {
        if self == other {
            return Ok(());
        }
        if graph::of(self).is_some() {
            return Err(graph::outside("wait_point", self, other.id()));
        }
        if other.0.milestones.completed() >= sequence {
            self.comes_after(other, sequence);
            return Ok(());
        }
        let Some(edge) = self.0.edges.missing(other.id(), sequence) else { return Ok(()) };
        let place = Location::caller();
        let wait = |milestone: &Milestone<Arc<PooledEvent>>| {
            let awaited = WorkId { stream: other.id(), sequence: milestone.sequence };
            self.enqueue_wait(place, milestone.event.raw(), awaited)?;
            edge.note(milestone.sequence);
            Ok(())
        };
        if other.0.milestones.with_covering(other, sequence, wait)?.is_none() {
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

    /// Notes that later work on this stream waits for the first `sequence` pieces of another.
    pub(crate) fn note_edge(&self, other: StreamId, sequence: u64) {
        self.0.edges.note(other, sequence);
    }

    /// Records an event now, if work was enqueued since the newest one, so that who later waits for
    /// this work waits for nothing else. A failure only costs that precision.
    #[track_caller]
    pub(crate) fn mark(&self) {
        if graph::of(self).is_some() {
            return;
        }
        if let Err(error) = self.0.milestones.mark(self) {
            tracing::debug!(%error, stream = %self.id(), "no event recorded");
        }
    }

    /// Blocks until all work enqueued so far is done.
    pub(crate) fn synchronize_with(&self, leave: Leave) -> Result<()> {
        let awaited = WorkId { stream: self.id(), sequence: self.sequence() };
        host_wait(self.state(), leave, &[awaited], "cuStreamSynchronize", |driver| {
            // SAFETY: the stream lives as long as `self`.
            unsafe { (driver.cuStreamSynchronize)(self.raw()) }
        })?;
        self.0.milestones.reached(awaited.sequence);
        retired::collect_values();
        Ok(())
    }

    /// Blocks until the first `sequence` pieces of work are done.
    #[track_caller]
    pub(crate) fn wait_for(&self, sequence: u64) -> Result<()> {
        if self.0.milestones.completed() >= sequence {
            observe::learned(|| WorkId { stream: self.id(), sequence });
            return Ok(());
        }
        self.wait_with(Leave::ask(self.device(), WaitReason::Point)?, sequence)
    }

    /// As [`wait_for`](Stream::wait_for), with leave that was asked for before.
    pub(crate) fn wait_with(&self, leave: Leave, sequence: u64) -> Result<()> {
        match self.0.milestones.covering(self, sequence)? {
            Some(milestone) => {
                let awaited = WorkId { stream: self.id(), sequence: milestone.sequence };
                milestone.event.synchronize(leave, awaited)?;
                self.0.milestones.reached(milestone.sequence);
            }
            None => observe::learned(|| WorkId { stream: self.id(), sequence }),
        }
        retired::collect_values();
        Ok(())
    }

    /// Enqueues a copy that uses what is lent to it until this returns, and blocks until it is done.
    /// However this ends, by an error or a panic too, the copy does not use it any more.
    #[track_caller]
    pub(crate) fn lend(&self, leave: Leave, enqueue: impl FnOnce() -> Result<()>) -> Result<()> {
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
        let done = enqueue().and_then(|()| self.settle(leave, self.sequence()));
        mem::forget(lent);
        done
    }

    /// Blocks until the first `sequence` pieces of work are done, which use what is lent to them. Where
    /// that cannot be waited for, it waits for the whole stream.
    ///
    /// # Errors
    /// Only if the work does not go on: the device is lost, or the driver has failed altogether.
    pub(crate) fn settle(&self, leave: Leave, sequence: u64) -> Result<()> {
        match self.wait_with(leave, sequence) {
            // A lost device uses nothing any more.
            waited @ (Ok(()) | Err(Error::DeviceLost { .. })) => waited,
            Err(_) => self.settle_at_once(),
        }
    }

    /// Blocks until everything on the stream is done, whether or not anybody may wait. It needs
    /// nothing for that but the driver's call.
    #[cold]
    pub(crate) fn settle_at_once(&self) -> Result<()> {
        self.settle_with(Leave::not_asked_for(self.device(), WaitReason::Point))
    }

    /// The same, with leave that was asked for before. It runs no destructors.
    #[cold]
    pub(crate) fn settle_with(&self, leave: Leave) -> Result<()> {
        let _allowed = graph::relaxed();
        let (state, call) = (self.state(), "cuStreamSynchronize");
        state.bind()?;
        let awaited = WorkId { stream: self.id(), sequence: self.sequence() };
        let result = waited(state, leave, &[awaited], call, || {
            // SAFETY: the stream lives as long as `self`.
            unsafe { (state.driver.cuStreamSynchronize)(self.raw()) }
        });
        check::on_stream(state, self.id(), call, result)?;
        self.reached(awaited.sequence);
        Ok(())
    }

    /// Whether the first `sequence` pieces of work are done.
    #[track_caller]
    pub(crate) fn has_reached(&self, sequence: u64) -> Result<bool> {
        if self.0.milestones.completed() >= sequence {
            return Ok(true);
        }
        match self.0.milestones.covering(self, sequence)? {
            None => Ok(true),
            Some(milestone) => {
                let reached = milestone.event.is_complete()?;
                if reached {
                    self.0.milestones.reached(milestone.sequence);
                }
                Ok(reached)
            }
        }
    }

    /// Notes that the first `sequence` pieces of work are done.
    pub(crate) fn reached(&self, sequence: u64) {
        self.0.milestones.reached(sequence);
    }

    /// The work that is not known to be done, as far as the ledger remembers, oldest first.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = LaunchRecord> + use<> {
        let stream = self.id();
        let work = self.0.ledger.between(self.0.milestones.completed(), self.sequence());
        work.into_iter().map(move |(sequence, work)| LaunchRecord { stream, sequence, work })
    }
}
