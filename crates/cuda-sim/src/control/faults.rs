//! Calls that fail on demand.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use cuda_sys::CUresult;

use super::ControlError;
use crate::api::Call;

struct Planned {
    call: &'static str,
    /// Counts down; the call that brings it to zero fails.
    left: u64,
    result: CUresult,
}

static PLANNED: Mutex<Vec<Planned>> = Mutex::new(Vec::new());

/// So that calls need not take the lock as long as nothing is planned.
static ANY: AtomicBool = AtomicBool::new(false);

/// Makes the `nth` call from now of a function, counted from 1, return `result` instead of doing
/// anything. Several plans may run at a time; each fails one call.
///
/// # Errors
/// [`ControlError::NoSuchCall`] for a name that the driver does not export.
pub fn fail(call: &str, nth: u64, result: CUresult) -> Result<(), ControlError> {
    let known = Call::NAMES.iter().copied().find(|name| *name == call);
    let call = known.ok_or_else(|| ControlError::NoSuchCall { name: call.to_owned() })?;
    let plan = Planned { call, left: nth.max(1), result };
    PLANNED.lock().unwrap_or_else(PoisonError::into_inner).push(plan);
    ANY.store(true, Ordering::Release);
    Ok(())
}

/// Forgets all plans.
pub fn clear_faults() {
    PLANNED.lock().unwrap_or_else(PoisonError::into_inner).clear();
    ANY.store(false, Ordering::Release);
}

/// The result that a call is to return, if it is to fail.
pub(crate) fn injected(call: Call) -> Option<CUresult> {
    if !ANY.load(Ordering::Acquire) {
        return None;
    }
    let mut planned = PLANNED.lock().unwrap_or_else(PoisonError::into_inner);
    planned
        .iter_mut()
        .filter(|plan| plan.call == call.name())
        .for_each(|plan| plan.left = plan.left.saturating_sub(1));
    let due = planned.iter().position(|plan| plan.left == 0)?;
    Some(planned.swap_remove(due).result)
}
