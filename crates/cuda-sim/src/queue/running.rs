//! A job that several threads run at once: who runs which of its pieces, and how many are left.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuda_sys::CUresult;
use parking_lot::Mutex;

use super::failure::Failure;
use super::health::Health;
use super::job::Job;
use super::point::StreamProgress;
use cuda_check::console;

/// A job that has been started: each piece is claimed by one thread, and the last piece to be done
/// ends the job.
pub(super) struct Running {
    pub(super) stream: Arc<StreamProgress>,
    pub(super) priority: usize,
    health: &'static Health,
    job: Mutex<Option<Arc<dyn Job>>>,
    pieces: u64,
    claimed: AtomicU64,
    /// The number of pieces that one claim takes.
    claim: AtomicU64,
    left: AtomicU64,
}

impl Running {
    pub(super) fn new(
        job: Arc<dyn Job>,
        stream: Arc<StreamProgress>,
        health: &'static Health,
        priority: usize,
    ) -> Running {
        let pieces = job.pieces();
        Running {
            stream,
            priority,
            health,
            job: Mutex::new(Some(job)),
            pieces,
            claimed: AtomicU64::new(0),
            claim: AtomicU64::new(1),
            left: AtomicU64::new(pieces),
        }
    }

    /// Pieces that nobody has claimed yet.
    pub(super) fn unclaimed(&self) -> u64 {
        self.pieces.saturating_sub(self.claimed.load(Ordering::Relaxed))
    }

    /// Claims pieces, if any are left.
    pub(super) fn claim(&self) -> Option<Range<u64>> {
        let most = self.claim.load(Ordering::Relaxed);
        let start = self.claimed.fetch_add(most, Ordering::Relaxed);
        // Adding beyond the end cannot overflow: every thread stops at its first failure.
        (start < self.pieces).then(|| start..(start + most).min(self.pieces))
    }

    /// Makes later claims take that many pieces, but never so many that the threads could not
    /// share what is left.
    pub(super) fn claim_more(&self, pieces: u64) {
        self.claim.store(pieces.min(self.unclaimed() / 8).max(1), Ordering::Relaxed);
    }

    /// The job, for who has claimed a piece of it.
    pub(super) fn job(&self) -> Option<Arc<dyn Job>> {
        self.job.lock().clone()
    }

    /// Runs claimed pieces and returns how many are thereby accounted for: on failure, those too
    /// that nobody has claimed.
    pub(super) fn run(&self, job: &dyn Job, pieces: Range<u64>) -> u64 {
        let count = pieces.end - pieces.start;
        if self.health.is_stopped() {
            return count + self.abandon();
        }
        if run_pieces(job, pieces, self.health) { count } else { count + self.abandon() }
    }

    /// Counts pieces as done. True for the last ones: the job is dropped, and its stream goes on
    /// once the caller says so.
    ///
    /// The caller has let go of the job by now, so that all which the job holds is free again when
    /// the stream's next point is seen to be complete.
    pub(super) fn done(&self, pieces: u64) -> bool {
        let last = pieces > 0 && self.left.fetch_sub(pieces, Ordering::AcqRel) == pieces;
        if last {
            drop(self.job.lock().take());
        }
        last
    }

    /// Claims all that is left, to run none of it.
    fn abandon(&self) -> u64 {
        let claimed = self.claimed.swap(self.pieces, Ordering::Relaxed);
        self.pieces.saturating_sub(claimed)
    }
}

/// Runs pieces of a job. False if they failed, and the device is lost.
pub(super) fn run_pieces(job: &dyn Job, pieces: Range<u64>, health: &Health) -> bool {
    let failure = match catch_unwind(AssertUnwindSafe(|| job.run(pieces))) {
        Ok(Ok(())) => return true,
        Ok(Err(failure)) => failure,
        Err(panic) => panicked(panic.as_ref()),
    };
    health.fail(&failure);
    false
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = format!("while device work ran: {}", console::reason_of(panic));
    console::internal_error(&text);
    let text = format!("internal error of the software driver {text}");
    Failure { code: CUresult::CUDA_ERROR_LAUNCH_FAILED, text, is_told: true }
}
