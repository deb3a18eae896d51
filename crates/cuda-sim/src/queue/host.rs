//! Threads for host functions: as many as are blocked at the same time, and one more. They run
//! device work too where operations run one at a time.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use cuda_sys::CUresult;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::failure::Failure;
use super::health::Health;
use super::point::StreamProgress;

/// A function whose turn has come.
pub(super) struct HostThreadTask {
    pub(super) function: Box<dyn FnOnce() + Send>,
    pub(super) stream: Arc<StreamProgress>,
    /// The health of the stream's device.
    pub(super) health: &'static Health,
    /// Whether it is the program's, which must not call the driver.
    pub(super) is_host_function: bool,
}

impl HostThreadTask {
    /// Drops the function uncalled and loses the device: there is no thread to call it on.
    pub(super) fn give_up(self) {
        self.health.fail(&Failure::new(
            CUresult::CUDA_ERROR_OUT_OF_MEMORY,
            "there is no thread for a host function: the process cannot have more",
        ));
        drop(self.function);
    }
}

/// Whether the calling thread runs a host function, which must not call the driver.
pub(crate) fn in_host_function() -> bool {
    RUNNING.try_with(Cell::get).unwrap_or(false)
}

/// The threads, made when needed and gone when idle for a while.
#[derive(Default)]
pub(super) struct HostThreads {
    calls: Mutex<TaskQueue>,
    arrived: Condvar,
    /// The number of host functions that run.
    busy: AtomicUsize,
}

#[derive(Default)]
struct TaskQueue {
    waiting: VecDeque<HostThreadTask>,
    idle: usize,
}

/// The time for which a thread waits for the next call before it ends.
const PATIENCE: Duration = Duration::from_secs(5);

thread_local! {
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

impl HostThreads {
    /// Runs `call` soon, whatever other calls do meanwhile, and then tells `finished` of its
    /// stream. Gives the call back if the process has no thread left for it.
    pub(super) fn submit(
        &'static self,
        call: HostThreadTask,
        finished: impl Fn(&Arc<StreamProgress>) + Copy + Send + 'static,
    ) -> Option<HostThreadTask> {
        let stream = Arc::clone(&call.stream);
        let mut calls = self.lock();
        calls.waiting.push_back(call);
        if calls.idle >= calls.waiting.len() {
            drop(calls);
            self.arrived.notify_one();
            return None;
        }
        drop(calls);
        let thread = thread::Builder::new().name("cuda-sim host".to_owned());
        let error = thread.spawn(move || self.serve(finished)).err()?;
        tracing::error!(%error, "no thread for a host function");
        // A stream has one call at a time. Who has just ended another may have taken it already.
        let waiting = &mut self.lock().waiting;
        let place = waiting.iter().position(|call| Arc::ptr_eq(&call.stream, &stream))?;
        waiting.remove(place)
    }

    /// Whether a host function runs.
    pub(super) fn are_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) > 0
    }

    fn serve(&self, finished: impl Fn(&Arc<StreamProgress>)) {
        while let Some(call) = self.next() {
            let busy = usize::from(call.is_host_function);
            RUNNING.set(call.is_host_function);
            self.busy.fetch_add(busy, Ordering::Relaxed);
            (call.function)();
            self.busy.fetch_sub(busy, Ordering::Relaxed);
            RUNNING.set(false);
            finished(&call.stream);
        }
    }

    fn lock(&self) -> MutexGuard<'_, TaskQueue> {
        self.calls.lock()
    }

    fn next(&self) -> Option<HostThreadTask> {
        let mut calls = self.lock();
        loop {
            if let Some(call) = calls.waiting.pop_front() {
                return Some(call);
            }
            calls.idle += 1;
            let timeout = self.arrived.wait_for(&mut calls, PATIENCE);
            calls.idle -= 1;
            if timeout.timed_out() && calls.waiting.is_empty() {
                return None;
            }
        }
    }
}
