//! The scheduler: what streams, the host and the workers do to the queues.

use std::cell::RefCell;
use std::hint;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::effects::Effects;
use super::health::Health;
use super::host::{HostThreadTask, HostThreads};
use super::kind::StreamKind;
use super::parker::Parker;
use super::point::{QueuePoint, StreamProgress};
use super::queue_table::Unfinished;
use super::running::Running;
use super::state::SchedulerState;
use super::work::StreamWork;
use super::worker_slots::{JobShare, Wait, Wake};
use crate::time;

/// Runs the work of streams, on no more threads at once than it has slots: on workers, which it
/// starts when they are needed, and on host threads that wait.
pub(crate) struct Scheduler {
    state: Mutex<SchedulerState>,
    /// The number of threads that would find a slot and something to do, of those in line for whom
    /// there is no slot, and of the workers that look for work. They are copies for threads that
    /// look without the lock.
    openings: AtomicUsize,
    outnumbered: AtomicUsize,
    looking: AtomicUsize,
    workers_called: Condvar,
    pub(super) host_threads: HostThreads,
    /// Whether operations run one at a time, as a schedule chooses.
    stepping: AtomicBool,
    /// An operation of those has ended, or something was enqueued.
    pub(super) stepped: Condvar,
    pub(super) watching: Once,
}

/// The number of looks before a thread sleeps: a few microseconds, about what waking it costs.
const LOOKS: u32 = 200;

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduler").finish_non_exhaustive()
    }
}

impl Scheduler {
    /// A scheduler with slots for that many threads, at least one. It lives as long as the process:
    /// workers are never joined, so that a process can exit whatever they do.
    pub(crate) fn new(workers: usize) -> &'static Scheduler {
        Box::leak(Box::new(Scheduler {
            state: Mutex::new(SchedulerState::new(workers.max(1))),
            openings: AtomicUsize::new(0),
            outnumbered: AtomicUsize::new(0),
            looking: AtomicUsize::new(0),
            workers_called: Condvar::new(),
            host_threads: HostThreads::default(),
            stepping: AtomicBool::new(false),
            stepped: Condvar::new(),
            watching: Once::new(),
        }))
    }

    /// Waits for all work of an owner's streams that is enqueued by now.
    pub(crate) fn wait_for_owner(&'static self, owner: u64) {
        self.wait_for_all(Unfinished::Owner(owner));
        cuda_check::host_saw_all(|other, _| other == owner);
    }

    /// The ends of all streams of an owner, whether their work is done or not.
    pub(crate) fn ends_of(&self, owner: u64) -> Vec<QueuePoint> {
        self.lock().queues.ends_of(owner)
    }

    /// Waits for all work on a device that is enqueued by now.
    pub(crate) fn wait_for_device(&'static self, health: &'static Health) {
        self.wait_for_all(Unfinished::Device(health));
        cuda_check::host_saw_all(|_, device| device == health.ordinal());
    }

    /// Waits for all work that is enqueued by now, in no time that the program sees.
    pub(crate) fn wait_for_everything(&'static self) {
        let ends = self.lock().queues.unfinished(Unfinished::Any);
        ends.iter().for_each(|end| self.wait_for_work(end));
        cuda_check::host_saw_all(|_, _| true);
    }

    /// Waits for all work that is enqueued, as long as some of it gets done: until nothing has been
    /// for so long. How many streams have work left.
    pub(crate) fn finish(&'static self, patience: Duration) -> usize {
        const PAUSE: Duration = Duration::from_millis(1);
        let (mut seen, mut since) = (self.lock().queues.outstanding(), Instant::now());
        while seen.streams > 0 && since.elapsed() < patience {
            if self.is_stepping() {
                self.take_step();
            }
            thread::sleep(PAUSE);
            let now = self.lock().queues.outstanding();
            if mem::replace(&mut seen, now) != now {
                since = Instant::now();
            }
        }
        seen.streams
    }

    /// The number of streams that have work left.
    pub(crate) fn unfinished_streams(&self) -> usize {
        self.lock().queues.outstanding().streams
    }

    /// Waits until a point is complete. The calling thread takes part in the stream's work
    /// meanwhile: that is quicker than to wake a worker and then to be woken by it.
    pub(crate) fn wait(&'static self, point: &QueuePoint) {
        let is_virtual = time::is_virtual();
        if is_virtual {
            time::begin_wait(point.position());
        }
        self.wait_for_work(point);
        point.host_saw();
        if is_virtual {
            time::join(point.position());
        }
    }

    /// Waits until a point is complete, in no time that the program sees.
    fn wait_for_work(&'static self, point: &QueuePoint) {
        if self.is_stepping() {
            return self.step_to(point);
        }
        if point.is_complete() {
            return;
        }
        let mut acquired = self.update(|state, _| state.try_acquire(point));
        loop {
            while let Some(running) = acquired.take() {
                let part = self.take_part(running);
                acquired = self
                    .update(|state, effects| state.release_and_try_acquire(part, point, effects));
            }
            if point.is_complete() || self.look(|| point.is_complete()) {
                return;
            }
            let parker = spare_parker();
            acquired = match self.update(|state, _| state.acquire_or_be_woken(point, &parker)) {
                Wait::Over => return,
                Wait::Acquired(running) => Some(running),
                Wait::Asleep => match parker.sleep() {
                    Wake::Complete => return,
                    Wake::Slot(running) => Some(running),
                },
            };
        }
    }

    pub(super) fn open(
        &'static self,
        health: &'static Health,
        owner: u64,
        kind: StreamKind<&Arc<StreamProgress>>,
        priority: usize,
    ) -> Arc<StreamProgress> {
        self.lock().queues.open(health, owner, kind, priority)
    }

    pub(super) fn close(&'static self, stream: &Arc<StreamProgress>) {
        self.lock().queues.close(stream);
    }

    pub(super) fn enqueue(
        &'static self,
        stream: &Arc<StreamProgress>,
        after: Option<QueuePoint>,
        work: StreamWork,
    ) -> QueuePoint {
        if self.is_stepping() {
            return self.enqueue_for_steps(stream, after, work);
        }
        self.update(|state, effects| state.enqueue(stream, after, work, effects))
    }

    fn enqueue_for_steps(
        &'static self,
        stream: &Arc<StreamProgress>,
        after: Option<QueuePoint>,
        work: StreamWork,
    ) -> QueuePoint {
        let has_body = work.has_body();
        let point = self.update(|state, effects| {
            state.number(stream);
            state.enqueue(stream, after, work, effects)
        });
        self.stepped.notify_all();
        if has_body {
            self.take_early_steps();
        }
        point
    }

    /// Enqueues operations in several streams at once.
    pub(super) fn enqueue_several<R>(
        &'static self,
        enqueue: impl FnOnce(&mut SchedulerState, &mut Effects) -> R,
    ) -> R {
        if !self.is_stepping() {
            return self.update(enqueue);
        }
        let result = self.update(enqueue);
        self.stepped.notify_all();
        self.take_early_steps();
        result
    }

    pub(super) fn mark(&'static self, stream: &Arc<StreamProgress>) -> QueuePoint {
        self.update(|state, effects| match state.queues.tail(stream) {
            (tail, true) => tail,
            (_, false) => state.enqueue(stream, None, StreamWork::Nothing, effects),
        })
    }

    pub(super) fn awaited(&'static self, stream: &Arc<StreamProgress>) -> Vec<QueuePoint> {
        self.lock().queues.awaited(stream)
    }

    pub(super) fn is_idle(&'static self, stream: &Arc<StreamProgress>) -> bool {
        let (tail, alone) = self.lock().queues.tail(stream);
        if time::is_virtual() {
            // What it would have to wait for besides is a point then.
            return self.is_done(&self.mark(stream));
        }
        let idle = alone && tail.is_complete();
        if !idle && self.is_stepping() {
            self.take_step();
        }
        idle
    }

    /// Whether a point is complete, for a program that asks and may ask until it is.
    pub(crate) fn is_done(&'static self, point: &QueuePoint) -> bool {
        if point.is_passed() {
            let caught_up = !time::is_virtual() || self.catch_up(point);
            if caught_up {
                point.host_saw();
            }
            return caught_up;
        }
        if self.is_stepping() {
            self.take_step();
        }
        false
    }

    pub(super) fn finish_host_call(&'static self, stream: &Arc<StreamProgress>) {
        self.update(|state, effects| state.finish(stream, effects));
        if self.is_stepping() {
            self.stepped.notify_all();
        }
    }

    pub(super) fn is_stepping(&self) -> bool {
        self.stepping.load(Ordering::Relaxed)
    }

    pub(super) fn note_stepping(&self, stepping: bool) {
        self.stepping.store(stepping, Ordering::Relaxed);
    }

    /// A worker's next job after the one that it took part in. Waits until there is one.
    pub(super) fn exchange(&'static self, part: JobShare) -> Arc<Running> {
        let next = self.update(|state, effects| state.exchange(part, effects));
        next.unwrap_or_else(|| self.await_work())
    }

    /// A worker's first job, or the next one after it found none: looks for a while, then sleeps
    /// until it is called. The caller is counted as looking.
    pub(super) fn await_work(&'static self) -> Arc<Running> {
        self.look(|| self.openings.load(Ordering::Relaxed) > 0);
        loop {
            if let Some(next) = self.update(SchedulerState::acquire_or_sleep) {
                return next;
            }
            let mut state = self.lock();
            while !state.slots.answer_call() {
                self.workers_called.wait(&mut state);
            }
        }
    }

    /// Offers a share in a job to a worker that is looking for work, or, if it is worth waking one
    /// for, that is asleep. False if there is none, or no slot for it.
    pub(super) fn share(&'static self, running: &Arc<Running>, worth_waking: bool) -> bool {
        if !worth_waking && self.looking.load(Ordering::Relaxed) == 0 {
            return false;
        }
        self.update(|state, _| {
            let has_slot = state.has_spare_slot();
            if has_slot {
                state.ready.share(Arc::clone(running));
            }
            has_slot
        })
    }

    /// Whether there are more who want a slot than slots.
    pub(super) fn is_full(&self) -> bool {
        self.outnumbered.load(Ordering::Relaxed) > 0
    }

    /// A worker that was to start did not: there are no threads left. Host threads that wait for
    /// what it was to do can do it.
    pub(super) fn do_without_worker(&'static self) {
        let mut effects = Effects::default();
        let mut state = self.lock();
        state.slots.stop_looking();
        state.give_to_host(&mut effects);
        self.publish(&state);
        drop(state);
        self.apply(effects);
    }

    fn wait_for_all(&'static self, of: Unfinished) {
        let ends = self.lock().queues.unfinished(of);
        ends.iter().for_each(|end| self.wait(end));
    }

    fn look(&self, mut found: impl FnMut() -> bool) -> bool {
        (0..LOOKS).any(|_| {
            hint::spin_loop();
            found()
        })
    }

    /// Changes the state, calls those who can go on, and does what else the change asks for.
    pub(super) fn update<R>(
        &'static self,
        change: impl FnOnce(&mut SchedulerState, &mut Effects) -> R,
    ) -> R {
        let mut effects = Effects::default();
        let result = self.change(&mut effects, change);
        // To hand them on is to copy all the room that they have.
        if !effects.are_none() {
            self.apply(effects);
        }
        result
    }

    /// Changes the state; what else the change asks for is still to be done.
    fn change<R>(
        &self,
        effects: &mut Effects,
        change: impl FnOnce(&mut SchedulerState, &mut Effects) -> R,
    ) -> R {
        let mut state = self.lock();
        let result = change(&mut state, effects);
        // After each change and under the same lock, so that no opening goes unnoticed: a wake-up
        // that is decided later could be lost to a thread that falls asleep in between.
        state.settle(effects);
        self.publish(&state);
        result
    }

    pub(super) fn apply(&'static self, effects: Effects) {
        let mut refused = self.carry_out(effects);
        // Their streams go on without them, which may ask for more of the kind.
        while let Some(call) = refused.pop() {
            let stream = Arc::clone(&call.stream);
            call.give_up();
            let mut effects = Effects::default();
            self.change(&mut effects, |state, effects| state.finish(&stream, effects));
            refused.extend(self.carry_out(effects));
            if self.is_stepping() {
                self.stepped.notify_all();
            }
        }
    }

    /// Does what a change asks for. Gives back the calls for which there is no thread.
    fn carry_out(&'static self, effects: Effects) -> Vec<HostThreadTask> {
        for _ in 0..effects.called_workers {
            self.workers_called.notify_one();
        }
        (0..effects.new_workers).for_each(|_| self.start_worker());
        let mut refused = Vec::new();
        let finished = |stream: &Arc<StreamProgress>| self.finish_host_call(stream);
        effects.carry_out(|task| refused.extend(self.host_threads.submit(task, finished)));
        refused
    }

    fn publish(&self, state: &SchedulerState) {
        self.openings.store(state.openings(), Ordering::Relaxed);
        self.outnumbered.store(state.outnumbered(), Ordering::Relaxed);
        self.looking.store(state.slots.looking(), Ordering::Relaxed);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, SchedulerState> {
        self.state.lock()
    }
}

/// The calling thread's own parker, which nobody else knows.
fn spare_parker() -> Arc<Parker<Wake>> {
    thread_local! {
        static SPARE: RefCell<Option<Arc<Parker<Wake>>>> = const { RefCell::new(None) };
    }
    let spare = SPARE.try_with(|spare| spare.borrow_mut().get_or_insert_default().clone());
    spare.unwrap_or_default()
}
