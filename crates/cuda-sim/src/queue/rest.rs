//! Threads in the middle of a job that cannot go on before somebody else does.

use std::cell::Cell;
use std::sync::Arc;
use std::thread;

use super::parker::Parker;
use super::scheduler::Scheduler;

thread_local! {
    static SEATED_AT: Cell<Option<&'static Scheduler>> = const { Cell::new(None) };
}

/// The seat that the calling thread has, while it runs a job.
pub(super) struct Seat;

impl Seat {
    pub(super) fn take(scheduler: &'static Scheduler) -> Seat {
        SEATED_AT.set(Some(scheduler));
        Seat
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        SEATED_AT.set(None);
    }
}

/// Lets others go first, in the middle of a job that waits for what they do: for a flag in memory
/// that another kernel, or a copy, is to write. Whoever stands in line gets the calling thread's
/// seat, and the thread goes on when it is its turn again.
pub(crate) fn rest() {
    match SEATED_AT.get() {
        Some(scheduler) if scheduler.is_full() => {
            let parker = Arc::new(Parker::default());
            if scheduler.update(|state, _| state.rest(&parker)) {
                parker.sleep();
            }
        }
        _ => thread::yield_now(),
    }
}
