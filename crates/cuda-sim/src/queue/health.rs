//! Whether a device still works, and what broke it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use cuda_sys::CUresult;
use parking_lot::Mutex;

use super::failure::Failure;
use super::job::Job;
use super::planned_fault::{self, PlannedFault};
use crate::config::WorkKind;

/// A device's sticky error.
///
/// The first failure of a job loses the device: what is queued on it is dropped, what runs is
/// interrupted, and each later call reports the failure, until [`Health::restore`].
#[derive(Debug)]
pub(crate) struct Health {
    /// The ordinal of the device.
    ordinal: u32,
    code: AtomicU32,
    /// Whether the program has been told of the error.
    is_known: AtomicBool,
    interrupt: AtomicBool,
    text: Mutex<Option<String>>,
    plans: Mutex<Vec<PlannedFault>>,
    has_plans: AtomicBool,
}

impl Health {
    /// The health of a device that works.
    pub(crate) const fn new(ordinal: u32) -> Health {
        Health {
            ordinal,
            code: AtomicU32::new(0),
            is_known: AtomicBool::new(false),
            interrupt: AtomicBool::new(false),
            text: Mutex::new(None),
            plans: Mutex::new(Vec::new()),
            has_plans: AtomicBool::new(false),
        }
    }

    /// The ordinal of the device.
    pub(super) fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// The sticky error, for a program that is to be told of it.
    ///
    /// # Errors
    /// The code of the first failure.
    pub(crate) fn check(&self) -> Result<(), CUresult> {
        self.error().inspect_err(|_| self.is_known.store(true, Ordering::Relaxed))
    }

    fn error(&self) -> Result<(), CUresult> {
        CUresult(self.code.load(Ordering::Acquire)).ok()
    }

    /// Takes note of a failure. Only the first one counts.
    pub(crate) fn fail(&self, failure: &Failure) {
        let mut text = self.text.lock();
        let code = failure.code.0;
        let first = self.code.compare_exchange(0, code, Ordering::AcqRel, Ordering::Acquire);
        self.interrupt.store(true, Ordering::Release);
        if first.is_ok() {
            *text = Some(failure.text.clone());
            drop(text);
            tracing::error!(code = %failure.code, "{}", failure.text);
            if !failure.is_told {
                cuda_check::device_lost(self.ordinal, failure.code, &failure.text);
            }
        }
    }

    /// Interrupts what runs and drops what is queued, without an error: the device is being reset.
    pub(crate) fn halt(&self) {
        self.interrupt.store(true, Ordering::Release);
    }

    /// Whether work is to be dropped instead of run.
    pub(crate) fn is_stopped(&self) -> bool {
        self.interrupt.load(Ordering::Acquire)
    }

    /// The flag that running kernels poll.
    pub(crate) fn interrupt(&self) -> &AtomicBool {
        &self.interrupt
    }

    /// The cause of the sticky error, if there is one.
    pub(crate) fn text(&self) -> Option<String> {
        let text = self.text.lock();
        self.is_known.store(text.is_some(), Ordering::Relaxed);
        text.clone()
    }

    /// The cause of the sticky error, if there is one and neither the program nor a person was told.
    pub(crate) fn untold(&self) -> Option<String> {
        let error = self.error().err().filter(|_| !self.is_known.load(Ordering::Relaxed))?;
        let text = self.text.lock();
        Some(text.clone().unwrap_or_else(|| error.to_string()))
    }

    /// Makes the `nth` work of a kind that is enqueued from now on fail when its turn comes.
    pub(crate) fn plan(&self, kind: WorkKind, nth: u64, result: CUresult) {
        let plan = PlannedFault { kind, left: nth.max(1), result };
        self.plans.lock().push(plan);
        self.has_plans.store(true, Ordering::Release);
    }

    /// Forgets what was planned.
    pub(crate) fn forget_plans(&self) {
        self.plans.lock().clear();
        self.has_plans.store(false, Ordering::Release);
    }

    /// The job itself, or one that fails in its place if that was planned.
    pub(super) fn planned(&self, job: Arc<dyn Job>) -> Arc<dyn Job> {
        if !self.has_plans.load(Ordering::Acquire) {
            return job;
        }
        let Some(kind) = planned_fault::kind(job.as_ref()) else { return job };
        let mut plans = self.plans.lock();
        plans
            .iter_mut()
            .filter(|plan| plan.kind == kind)
            .for_each(|plan| plan.left = plan.left.saturating_sub(1));
        match plans.iter().position(|plan| plan.left == 0) {
            Some(due) => planned_fault::failing(job.as_ref(), kind, plans.swap_remove(due).result),
            None => job,
        }
    }

    /// Makes the device as new.
    pub(crate) fn restore(&self) {
        let mut text = self.text.lock();
        *text = None;
        self.is_known.store(false, Ordering::Relaxed);
        self.code.store(0, Ordering::Release);
        self.interrupt.store(false, Ordering::Release);
    }
}
