//! The scheduler: what streams, the host and the workers do to the books.

use std::hint;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};

use super::health::Health;
use super::host::HostThreads;
use super::job::Running;
use super::parker::Parker;
use super::point::{Point, Progress};
use super::state::{Effects, State, Unfinished, Work};
use super::stream::StreamKind;
use crate::check;
use crate::time;

/// Runs the work of streams on a pool of workers, which it starts at the first job.
pub(crate) struct Scheduler {
    state: Mutex<State>,
    /// Jobs that want a thread, and those among them that nobody runs: for those who look without
    /// the lock.
    ready: AtomicUsize,
    waiting: AtomicUsize,
    /// How many workers look for work.
    looking: AtomicUsize,
    work_arrived: Condvar,
    pub(super) host_threads: HostThreads,
    workers: usize,
    pub(super) started: Once,
    /// Whether operations run one at a time, as a schedule chooses.
    stepping: AtomicBool,
    /// An operation of those has ended, or something was enqueued.
    pub(super) stepped: Condvar,
    pub(super) watching: Once,
}

/// How often a thread looks before it sleeps: a few microseconds, about what waking it costs.
const LOOKS: u32 = 200;

impl std::fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduler").field("workers", &self.workers).finish_non_exhaustive()
    }
}

impl Scheduler {
    /// A scheduler with that many workers, at least one. It lives as long as the process: workers
    /// are never joined, so that a process can exit whatever they do.
    pub(crate) fn new(workers: usize) -> &'static Scheduler {
        let workers = workers.max(1);
        Box::leak(Box::new(Scheduler {
            state: Mutex::new(State::new(workers)),
            ready: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            looking: AtomicUsize::new(0),
            work_arrived: Condvar::new(),
            host_threads: HostThreads::default(),
            workers,
            started: Once::new(),
            stepping: AtomicBool::new(false),
            stepped: Condvar::new(),
            watching: Once::new(),
        }))
    }

    /// Waits for all work of an owner's streams that is enqueued by now.
    pub(crate) fn wait_for_owner(&'static self, owner: u64) {
        self.wait_for_all(Unfinished::Owner(owner));
        check::host_saw_all(|other, _| other == owner);
    }

    /// The ends of all streams of an owner, whether their work is done or not.
    pub(crate) fn ends_of(&self, owner: u64) -> Vec<Point> {
        self.lock().ends_of(owner)
    }

    /// Waits for all work on a device that is enqueued by now.
    pub(crate) fn wait_for_device(&'static self, health: &'static Health) {
        self.wait_for_all(Unfinished::Device(health));
        check::host_saw_all(|_, other| ptr::eq(other, health));
    }

    /// Waits for all work that is enqueued by now, in no time that the program sees.
    pub(crate) fn wait_for_everything(&'static self) {
        let ends = self.lock().unfinished(Unfinished::Any);
        ends.iter().for_each(|end| self.wait_for_work(end));
        check::host_saw_all(|_, _| true);
    }

    /// Waits until a point is complete. The calling thread takes part in the stream's work
    /// meanwhile: that is quicker than to wake a worker and then to be woken by it.
    pub(crate) fn wait(&'static self, point: &Point) {
        self.wait_for_work(point);
        point.host_saw();
        if time::is_virtual() {
            time::join(point.position());
        }
    }

    /// Waits until a point is complete, in no time that the program sees.
    fn wait_for_work(&'static self, point: &Point) {
        if self.is_stepping() {
            return self.step_to(point);
        }
        while !point.is_complete() {
            let running = self.lock().take_running(&point.progress);
            let helped = running.is_some_and(|running| self.help(&running, point));
            if !helped && !self.look(|| point.is_complete()) {
                break;
            }
        }
        let parker = Parker::current();
        if !point.is_complete() && self.lock().wake_at(point, &parker) {
            parker.sleep();
        }
    }

    pub(super) fn open(
        &'static self,
        health: &'static Health,
        owner: u64,
        kind: StreamKind<'_>,
        priority: usize,
    ) -> Arc<Progress> {
        self.lock().open(health, owner, kind, priority)
    }

    pub(super) fn close(&'static self, stream: &Arc<Progress>) {
        self.lock().close(stream);
    }

    pub(super) fn enqueue(
        &'static self,
        stream: &Arc<Progress>,
        after: Option<Point>,
        work: Work,
    ) -> Point {
        if self.is_stepping() {
            return self.enqueue_for_steps(stream, after, work);
        }
        if matches!(work, Work::Job(_)) {
            self.start();
        }
        self.update(|state, effects| state.enqueue(stream, after, work, effects))
    }

    fn enqueue_for_steps(
        &'static self,
        stream: &Arc<Progress>,
        after: Option<Point>,
        work: Work,
    ) -> Point {
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
        enqueue: impl FnOnce(&mut State, &mut Effects) -> R,
    ) -> R {
        if !self.is_stepping() {
            self.start();
            return self.update(enqueue);
        }
        let result = self.update(enqueue);
        self.stepped.notify_all();
        self.take_early_steps();
        result
    }

    /// Makes sure that there are workers.
    pub(super) fn start(&'static self) {
        self.started.call_once(|| self.start_workers());
    }

    pub(super) fn mark(&'static self, stream: &Arc<Progress>) -> Point {
        self.update(|state, effects| match state.tail(stream) {
            (tail, true) => tail,
            (_, false) => state.enqueue(stream, None, Work::Nothing, effects),
        })
    }

    pub(super) fn awaited(&'static self, stream: &Arc<Progress>) -> Vec<Point> {
        self.lock().awaited(stream)
    }

    pub(super) fn is_idle(&'static self, stream: &Arc<Progress>) -> bool {
        let (tail, alone) = self.lock().tail(stream);
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
    pub(crate) fn is_done(&'static self, point: &Point) -> bool {
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

    pub(super) fn finish_host_call(&'static self, stream: &Arc<Progress>) {
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

    /// A worker's next job. It has come from work before, and ends a job if one is given.
    pub(super) fn exchange(
        &'static self,
        from_work: bool,
        ended: Option<&Running>,
    ) -> Arc<Running> {
        let next = self.update(|state, effects| {
            state.busy -= usize::from(from_work);
            // Counted before the job ends: what becomes ready by that needs nobody else.
            state.looking += 1;
            if let Some(ended) = ended {
                state.finish(&ended.stream, effects);
            }
            let next = state.ready.pop();
            if next.is_some() {
                state.looking -= 1;
                state.busy += 1;
            }
            next
        });
        next.unwrap_or_else(|| self.await_work())
    }

    /// Ends a job. If the calling thread waits for a later point of its stream, it takes part in
    /// what comes next, and nobody else is called for that.
    pub(super) fn finish(&'static self, running: &Running, awaited: &Point) {
        self.update(|state, effects| {
            let goes_on = usize::from(awaited.sequence > awaited.progress.completed() + 1);
            state.looking += goes_on;
            state.finish(&running.stream, effects);
            state.looking -= goes_on;
            if !state.runs_job(&awaited.progress) {
                // What became ready, if anything, is another stream's, and the thread may well be
                // waiting for just that.
                state.call_worker(effects);
            }
        });
    }

    /// Offers a share in a job to a worker that is looking for work, or, if it is worth waking one
    /// for, that is asleep. False if there is none.
    pub(super) fn share(&'static self, running: &Arc<Running>, worth_waking: bool) -> bool {
        if !worth_waking && self.looking.load(Ordering::Relaxed) == 0 {
            return false;
        }
        self.update(|state, effects| {
            let idle = state.has_idle_worker();
            if idle {
                state.ready.share(Arc::clone(running));
                state.call_worker(effects);
            }
            idle
        })
    }

    /// Puts a job back in line: its thread takes up another one.
    pub(super) fn give_way(&'static self, running: &Arc<Running>) {
        self.update(|state, _| state.ready.push(Arc::clone(running)));
    }

    /// Whether there are jobs that nobody runs.
    pub(super) fn has_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    pub(super) fn worker_count(&self) -> usize {
        self.workers
    }

    fn wait_for_all(&'static self, of: Unfinished) {
        let ends = self.lock().unfinished(of);
        ends.iter().for_each(|end| self.wait(end));
    }

    /// Looks for work for a while, then sleeps until there is some. The caller has counted itself
    /// as looking.
    fn await_work(&'static self) -> Arc<Running> {
        self.look(|| self.ready.load(Ordering::Relaxed) > 0);
        let mut state = self.lock();
        state.looking -= 1;
        loop {
            if let Some(next) = state.ready.pop() {
                state.busy += 1;
                self.publish(&state);
                return next;
            }
            state.asleep += 1;
            self.publish(&state);
            while state.signals == 0 {
                state = self.work_arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.signals -= 1;
            state.asleep -= 1;
        }
    }

    fn look(&self, mut found: impl FnMut() -> bool) -> bool {
        (0..LOOKS).any(|_| {
            hint::spin_loop();
            found()
        })
    }

    /// Changes the books, then does what the change asks for.
    pub(super) fn update<R>(
        &'static self,
        change: impl FnOnce(&mut State, &mut Effects) -> R,
    ) -> R {
        let mut effects = Effects::default();
        let mut state = self.lock();
        let result = change(&mut state, &mut effects);
        self.publish(&state);
        drop(state);
        self.apply(effects);
        result
    }

    pub(super) fn apply(&'static self, effects: Effects) {
        (0..effects.called_workers).for_each(|_| self.work_arrived.notify_one());
        effects.apply(|call| self.host_threads.submit(call, self));
    }

    fn publish(&self, state: &State) {
        self.ready.store(state.ready.len(), Ordering::Relaxed);
        self.waiting.store(state.ready.waiting(), Ordering::Relaxed);
        self.looking.store(state.looking, Ordering::Relaxed);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
