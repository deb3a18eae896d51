//! What threads do that run device work: workers, and host threads that help while they wait.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::running::Running;
use super::scheduler::Scheduler;
use super::worker_slots::JobShare;
use super::yield_slot::HeldSlot;

/// The time that one claim of pieces should take: long enough that claiming costs nothing, short
/// enough that other streams get their turn.
const CLAIM: Duration = Duration::from_micros(200);

/// The time that must be left of a job for waking another worker to pay.
const WORTH_SHARING: Duration = Duration::from_micros(50);

impl Scheduler {
    /// Starts a worker, which has been counted as looking for work.
    pub(super) fn start_worker(&'static self) {
        let thread = thread::Builder::new().name("cuda-sim worker".to_owned());
        if let Err(error) = thread.spawn(|| self.work()) {
            // Those that wait for work help with it, so even none at all is only slow.
            tracing::error!(%error, "a worker could not be started");
            self.do_without_worker();
        }
    }

    fn work(&'static self) {
        let mut running = self.await_work();
        loop {
            let part = self.take_part(running);
            running = self.exchange(part);
        }
    }

    /// Runs pieces of the job until none is left, or until others want the slot, which the calling
    /// thread has.
    pub(super) fn take_part(&'static self, running: Arc<Running>) -> JobShare {
        let mut part = JobShare { running, ended: false, gives_way: false };
        let running = &part.running;
        let Some(mut pieces) = running.claim() else { return part };
        let Some(job) = running.job() else { return part };
        let _slot = HeldSlot::take(self);
        let mut shared = running.unclaimed() == 0 || self.share(running, job.is_heavy());
        let mut done = 0;
        loop {
            let count = pieces.end - pieces.start;
            let started = Instant::now();
            done += running.run(job.as_ref(), pieces);
            let left = running.unclaimed();
            if left == 0 {
                break;
            }
            if self.is_full() {
                part.gives_way = true;
                break;
            }
            let took = started.elapsed();
            if !shared && took.saturating_mul(clamped(left)) / clamped(count) > WORTH_SHARING {
                shared = self.share(running, true);
            }
            if took < CLAIM / 2 {
                running.claim_more(count * 2);
            }
            match running.claim() {
                Some(claimed) => pieces = claimed,
                None => break,
            }
        }
        drop(job);
        part.ended = running.done(done);
        part
    }
}

fn clamped(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}
