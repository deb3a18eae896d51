//! What a worker does, and a host thread that helps while it waits.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::job::Running;
use super::point::Point;
use super::scheduler::Scheduler;

/// How long one claim of pieces should take: long enough that claiming costs nothing, short enough
/// that other streams get their turn.
const CLAIM: Duration = Duration::from_micros(200);

/// What must be left of a job for waking another worker to pay.
const WORTH_SHARING: Duration = Duration::from_micros(50);

impl Scheduler {
    pub(super) fn start_workers(&'static self) {
        for index in 0..self.worker_count() {
            let thread = thread::Builder::new().name(format!("cuda-sim worker {index}"));
            if let Err(error) = thread.spawn(|| self.work()) {
                // Those that wait for work help with it, so even none at all is only slow.
                tracing::error!(%error, index, "a worker could not be started");
            }
        }
    }

    /// Takes part in a job on the way to a point that the calling thread waits for. False if there
    /// was nothing left to take.
    pub(super) fn help(&'static self, running: &Arc<Running>, awaited: &Point) -> bool {
        let Some(share) = self.take_part(running, Leave::Never) else { return false };
        if share.was_last {
            self.finish(running, awaited);
        }
        true
    }

    fn work(&'static self) {
        let mut running = self.exchange(false, None);
        loop {
            let share = self.take_part(&running, Leave::ForOthers);
            let ended = share.is_some_and(|share| share.was_last).then_some(running);
            running = self.exchange(true, ended.as_deref());
        }
    }

    /// Runs pieces of the job until none is left, or until other jobs want the worker. `None` if
    /// there was nothing to run.
    fn take_part(&'static self, running: &Arc<Running>, leave: Leave) -> Option<Share> {
        let mut pieces = running.claim()?;
        let job = running.job()?;
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
            if leave == Leave::ForOthers && self.has_waiting() {
                self.give_way(running);
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
        Some(Share { was_last: running.done(done) })
    }
}

/// Whether a thread leaves a job to others when other jobs are ready.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leave {
    Never,
    ForOthers,
}

struct Share {
    was_last: bool,
}

fn clamped(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}
