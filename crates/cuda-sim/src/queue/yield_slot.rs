//! Threads in the middle of a job that cannot go on before somebody else does.

use std::cell::Cell;
use std::sync::Arc;
use std::thread;

use super::parker::Parker;
use super::scheduler::Scheduler;

thread_local! {
    static HOLDS_SLOT_OF: Cell<Option<&'static Scheduler>> = const { Cell::new(None) };
}

/// The slot that the calling thread has, while it runs a job.
pub(super) struct HeldSlot;

impl HeldSlot {
    pub(super) fn take(scheduler: &'static Scheduler) -> HeldSlot {
        HOLDS_SLOT_OF.set(Some(scheduler));
        HeldSlot
    }
}

impl Drop for HeldSlot {
    fn drop(&mut self) {
        HOLDS_SLOT_OF.set(None);
    }
}

/// Lets others go first, in the middle of a job that waits for what they do: for a flag in memory
/// that another kernel, or a copy, is to write. Whoever stands in line gets the calling thread's
/// slot, and the thread goes on when it is its turn again.
pub(crate) fn yield_slot() {
    match HOLDS_SLOT_OF.get() {
        Some(scheduler) if scheduler.is_full() => {
            let parker = Arc::new(Parker::default());
            if scheduler.update(|state, _| state.yield_slot(&parker)) {
                parker.sleep();
            }
        }
        _ => thread::yield_now(),
    }
}
