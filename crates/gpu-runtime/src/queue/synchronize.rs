//! Asking streams and devices how far they are, and waiting for all their work.

use super::point::StreamPoint;
use super::retired;
use crate::device::{capture_mode, check};
use crate::error::Result;
use crate::observe;
use crate::stream::{Stream, captures, registry};
use crate::types::{Device, WaitReason, WorkId};
use crate::wait::{WaitPermit, host_wait};

impl Stream {
    /// Blocks until all work enqueued so far is done.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if some of it failed;
    /// [`Error::Capture`](crate::Error::Capture) if the stream is being captured, or a capture
    /// forbids to wait.
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        captures::runs(self, "synchronize")?;
        self.synchronize_with(WaitPermit::ask(self.device(), WaitReason::Stream)?)
    }

    /// Whether all work enqueued so far is done. It does not wait.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if some of it failed;
    /// [`Error::Capture`](crate::Error::Capture) if the stream is being captured.
    pub fn query(&self) -> Result<bool> {
        captures::runs(self, "query")?;
        let state = self.state();
        let sequence = self.sequence();
        state.bind()?;
        // To ask about a stream that is not captured disturbs no capture.
        let _allowed = capture_mode::relaxed();
        // SAFETY: the stream lives as long as `self`.
        let result = unsafe { (state.driver.cuStreamQuery)(self.raw()) };
        let done = check::query(state, Some(self.id()), "cuStreamQuery", result)?;
        if done {
            self.history().reached(sequence);
            observe::learned(|| WorkId { stream: self.id(), sequence });
        }
        Ok(done)
    }

    /// Makes later work on this stream wait for a point of another one. The host does not wait.
    ///
    /// It costs no call to the driver where the point is known to be past, lies on this stream, or
    /// was waited for already. Otherwise it may wait for a little more than the point; see
    /// [`StreamPoint`].
    ///
    /// # Errors
    /// The driver's, for either device. [`Error::Capture`](crate::Error::Capture) if this stream is
    /// being captured: points are of work that runs.
    #[track_caller]
    pub fn wait_point(&self, point: &StreamPoint) -> Result<()> {
        self.wait_work(point.stream(), point.sequence())
    }

    /// The point after everything enqueued so far. It costs no call to the driver.
    pub fn point(&self) -> StreamPoint {
        StreamPoint::new(self.clone(), self.now())
    }

    /// The point after the first `sequence` pieces of work; [`point`](Stream::point) if that many
    /// were not enqueued yet. Who remembers an earlier point as a number gets it back here.
    pub fn point_at(&self, sequence: u64) -> StreamPoint {
        StreamPoint::new(self.clone(), sequence.min(self.sequence()))
    }

    /// The number of the newest piece of work that is known to be done, as all before it are.
    ///
    /// It polls, and waits for nothing. If no event is on its way that could tell of unfinished
    /// work, it records one, so that who polls again and again learns of every completion.
    #[track_caller]
    pub fn completed(&self) -> u64 {
        self.history().poll(self)
    }

    /// An error where the calling thread may not wait for this stream. Who enqueues something and
    /// then waits for it asks first, and enqueues nothing that nobody will wait for.
    ///
    /// # Errors
    /// [`Error::WaitRefused`](crate::Error::WaitRefused) in [`WaitMode::Fail`](crate::WaitMode::Fail),
    /// [`Error::Capture`](crate::Error::Capture) during a capture.
    #[track_caller]
    pub fn may_wait(&self) -> Result<()> {
        if captures::joined(self)?.is_some() {
            return Err(captures::nothing_runs("wait", self));
        }
        WaitPermit::ask(self.device(), WaitReason::Point).map(drop)
    }
}

impl Device {
    /// Blocks until all work enqueued on the device so far is done, on all its streams. What was
    /// dropped while the device used it is freed then.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if some of it failed;
    /// [`Error::Capture`](crate::Error::Capture) while one of its streams is
    /// being captured, in whichever thread that is.
    #[track_caller]
    pub fn synchronize(self) -> Result<()> {
        self.runs("synchronize")?;
        self.finish(WaitPermit::ask(self, WaitReason::Device)?)
    }

    /// Fails if one of the device's streams is being captured.
    pub(crate) fn runs(self, operation: &'static str) -> Result<()> {
        registry::streams(self).iter().try_for_each(|stream| captures::runs(stream, operation))
    }

    /// Blocks until all work enqueued so far is done, with a permit that was asked for before.
    pub(crate) fn finish(self, permit: WaitPermit) -> Result<()> {
        let state = self.state();
        let points: Vec<_> = registry::streams(self).iter().map(Stream::point).collect();
        let awaits: Vec<_> = points.iter().map(StreamPoint::work).collect();
        let waited = host_wait(state, permit, &awaits, "cuCtxSynchronize", |driver| {
            // SAFETY: the device's context is current.
            unsafe { (driver.cuCtxSynchronize)() }
        });
        if waited.is_ok() {
            for point in points {
                point.stream().history().reached(point.sequence());
            }
        }
        // A lost device does not use anything any more either.
        retired::collect_values();
        retired::of_device(self).collect();
        waited
    }

    /// Whether no work is on its way on any stream of the runtime.
    pub(crate) fn is_idle(self) -> bool {
        let is_idle = |stream: &Stream| stream.has_reached(stream.now()).unwrap_or(true);
        registry::streams(self).iter().all(is_idle)
    }
}
