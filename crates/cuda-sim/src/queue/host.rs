//! Threads for host functions: as many as are blocked at the same time, and one more. They run
//! device work too where operations run one at a time.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::point::Progress;
use super::scheduler::Scheduler;

/// A function whose turn has come.
pub(super) struct HostCall {
    pub(super) function: Box<dyn FnOnce() + Send>,
    pub(super) stream: Arc<Progress>,
    /// Whether it is the program's, which must not call the driver.
    pub(super) is_host_function: bool,
}

/// Whether the calling thread runs a host function, which must not call the driver.
pub(crate) fn in_host_function() -> bool {
    RUNNING.try_with(Cell::get).unwrap_or(false)
}

/// The threads, made when needed and gone when idle for a while.
#[derive(Default)]
pub(super) struct HostThreads {
    calls: Mutex<Calls>,
    arrived: Condvar,
    /// How many host functions run.
    busy: AtomicUsize,
}

#[derive(Default)]
struct Calls {
    waiting: VecDeque<HostCall>,
    idle: usize,
}

/// How long a thread waits for the next call before it ends.
const PATIENCE: Duration = Duration::from_secs(5);

thread_local! {
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

impl HostThreads {
    /// Has `call` run soon, whatever other calls do meanwhile.
    pub(super) fn submit(&'static self, call: HostCall, scheduler: &'static Scheduler) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.waiting.push_back(call);
        if calls.idle >= calls.waiting.len() {
            drop(calls);
            self.arrived.notify_one();
            return;
        }
        drop(calls);
        let thread = thread::Builder::new().name("cuda-sim host".to_owned());
        if let Err(error) = thread.spawn(move || self.serve(scheduler)) {
            // The call is served when another one ends, or never: the program has no threads left.
            tracing::error!(%error, "no thread for a host function");
        }
    }

    /// Whether a host function runs.
    pub(super) fn are_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) > 0
    }

    fn serve(&self, scheduler: &'static Scheduler) {
        while let Some(call) = self.next() {
            let busy = usize::from(call.is_host_function);
            RUNNING.set(call.is_host_function);
            self.busy.fetch_add(busy, Ordering::Relaxed);
            (call.function)();
            self.busy.fetch_sub(busy, Ordering::Relaxed);
            RUNNING.set(false);
            scheduler.finish_host_call(&call.stream);
        }
    }

    fn next(&self) -> Option<HostCall> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(call) = calls.waiting.pop_front() {
                return Some(call);
            }
            calls.idle += 1;
            let (woken, timeout) =
                self.arrived.wait_timeout(calls, PATIENCE).unwrap_or_else(PoisonError::into_inner);
            calls = woken;
            calls.idle -= 1;
            if timeout.timed_out() && calls.waiting.is_empty() {
                return None;
            }
        }
    }
}
