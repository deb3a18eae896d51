//! The worker threads of a loader, which live as long as it does, and the epochs that they work on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gpu_runtime::panics::discard;
use parking_lot::{Condvar, Mutex};

use super::cancel::WakeLoops;
use super::epochs::{EpochClaim, EpochId, OpenEpoch, OpenEpochs};
use super::error::LoaderError;
use super::task::{Made, Maker, Recipe, Workbench};
use super::worker_info::become_worker;
use crate::SampleSource;

/// Worker threads, which are started when they are needed, and end with the loader and its last
/// iterator.
pub(super) struct WorkerPool<D: SampleSource> {
    shared: Arc<PoolShared<D>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    timeout: Option<Duration>,
}

/// The part of a pool that workers and loops share.
struct PoolShared<D: SampleSource> {
    recipe: Arc<Recipe<D>>,
    /// The number of workers that were asked for.
    workers: usize,
    /// The number of threads that have not ended.
    alive: AtomicUsize,
    state: Mutex<OpenEpochs<D>>,
    /// Workers wait here for a batch to make.
    work: Condvar,
    /// Loops wait here for a batch that is made, and for workers to leave an epoch.
    made: Condvar,
}

/// A batch that a loop may get.
pub(super) enum Turned<B> {
    Made(usize, Made<B>),
    /// No batch is left.
    End,
}

impl<D: SampleSource> WorkerPool<D> {
    pub(super) fn new(
        recipe: &Arc<Recipe<D>>,
        workers: usize,
        timeout: Option<Duration>,
    ) -> WorkerPool<D> {
        let shared = PoolShared {
            recipe: Arc::clone(recipe),
            workers,
            alive: AtomicUsize::new(0),
            state: Mutex::new(OpenEpochs::new()),
            work: Condvar::new(),
            made: Condvar::new(),
        };
        WorkerPool { shared: Arc::new(shared), threads: Mutex::new(Vec::new()), timeout }
    }

    /// Takes an epoch out that nobody wants any more, and waits until no worker is busy with it.
    pub(super) fn close(&self, id: EpochId) {
        let mut state = self.shared.state.lock();
        if let Some(epoch) = state.get(id) {
            epoch.cancel.set();
        }
        let deadline = self.deadline();
        while state.get(id).is_some_and(|epoch| epoch.is_worked_on()) {
            if self.shared.is_dead() || !self.shared.wait(&mut state, deadline) {
                break;
            }
        }
        let closed = state.remove(id);
        drop(state);
        // Code of the program: without the lock.
        if let Some(closed) = closed {
            closed.discard();
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timeout.and_then(|timeout| Instant::now().checked_add(timeout))
    }

    /// The next batch of an epoch, once it is made.
    ///
    /// # Errors
    /// The epoch was cancelled; it took longer than the time-out; all workers are gone.
    pub(super) fn wait_for(&self, id: EpochId) -> Result<Turned<D::Batch>, LoaderError> {
        let deadline = self.deadline();
        let mut state = self.shared.state.lock();
        loop {
            let Some(epoch) = state.get(id) else { return Ok(Turned::End) };
            if epoch.cancel.is_set() {
                return Err(LoaderError::Cancelled);
            }
            if let Some((batch, made)) = epoch.take() {
                drop(state);
                self.shared.work.notify_one();
                return Ok(Turned::Made(batch, made));
            }
            if epoch.is_over() {
                return Ok(Turned::End);
            }
            let batch = epoch.next_batch();
            if self.shared.is_dead() {
                return Err(LoaderError::WorkersGone { batch });
            }
            if !self.shared.wait(&mut state, deadline) {
                let after = self.timeout.unwrap_or_default();
                return Err(LoaderError::Timeout { batch, after });
            }
        }
    }

    /// The next batch of an epoch, if it is made.
    pub(super) fn take_made(&self, id: EpochId) -> Option<(usize, Made<D::Batch>)> {
        let mut state = self.shared.state.lock();
        let epoch = state.get(id).filter(|epoch| !epoch.cancel.is_set())?;
        let taken = epoch.take()?;
        drop(state);
        self.shared.work.notify_one();
        Some(taken)
    }

    /// Opens an epoch, on which up to `workers` threads work.
    ///
    /// # Errors
    /// The system starts no more threads.
    pub(super) fn open(&self, epoch: OpenEpoch<D>, workers: usize) -> Result<EpochId, LoaderError> {
        self.grow(workers.min(self.shared.workers))?;
        let id = self.shared.state.lock().add(epoch);
        self.shared.work.notify_all();
        Ok(id)
    }

    /// Something that wakes the loops that wait here.
    pub(super) fn waiting(&self) -> Weak<dyn WakeLoops> {
        let shared: Weak<PoolShared<D>> = Arc::downgrade(&self.shared);
        shared
    }

    /// Starts threads until there are so many.
    fn grow(&self, count: usize) -> Result<(), LoaderError> {
        let mut threads = self.threads.lock();
        for worker in threads.len()..count {
            let shared = Arc::clone(&self.shared);
            shared.alive.fetch_add(1, Ordering::AcqRel);
            let alive = Alive { shared: Some(shared) };
            let thread = std::thread::Builder::new()
                .name(format!("loader-{worker}"))
                .spawn(move || alive.shared().work(worker))
                .map_err(|source| LoaderError::Spawn { worker, source })?;
            threads.push(thread);
        }
        Ok(())
    }
}

impl<D: SampleSource> Drop for WorkerPool<D> {
    /// Ends the threads after the samples at hand, and joins them. Those that are still busy when
    /// the time-out is over are left to end by themselves.
    fn drop(&mut self) {
        let deadline = self.deadline();
        let threads = self.threads.get_mut();
        // A thread that drops the loader itself cannot wait for its own end.
        let own = std::thread::current().id();
        let is_worker = threads.iter().any(|thread| thread.thread().id() == own);
        let mut state = self.shared.state.lock();
        state.close();
        self.shared.work.notify_all();
        while !is_worker && !self.shared.is_dead() && self.shared.wait(&mut state, deadline) {}
        drop(state);
        let is_late = !self.shared.is_dead();
        for thread in threads.drain(..) {
            if is_late && !thread.is_finished() {
                continue;
            }
            if let Err(payload) = thread.join() {
                discard(payload);
            }
        }
    }
}

/// A thread's share in the pool, which ends with the thread, whatever it dies of.
struct Alive<D: SampleSource> {
    shared: Option<Arc<PoolShared<D>>>,
}

impl<D: SampleSource> Alive<D> {
    fn shared(&self) -> &PoolShared<D> {
        self.shared.as_deref().expect("it is there until the thread ends")
    }
}

impl<D: SampleSource> Drop for Alive<D> {
    fn drop(&mut self) {
        let Some(shared) = self.shared.take() else { return };
        {
            let _state = shared.state.lock();
            shared.alive.fetch_sub(1, Ordering::AcqRel);
            shared.made.notify_all();
        }
        // It may be the last to hold the dataset.
        discard(shared);
    }
}

impl<D: SampleSource> WakeLoops for PoolShared<D> {
    fn wake(&self) {
        let _state = self.state.lock();
        self.made.notify_all();
    }
}

impl<D: SampleSource> PoolShared<D> {
    /// Whether no thread is left.
    fn is_dead(&self) -> bool {
        self.alive.load(Ordering::Acquire) == 0
    }

    /// Waits for news of batches or workers; `false` once the deadline is over.
    fn wait(
        &self,
        state: &mut parking_lot::MutexGuard<'_, OpenEpochs<D>>,
        deadline: Option<Instant>,
    ) -> bool {
        match deadline {
            None => {
                self.made.wait(state);
                true
            }
            Some(deadline) => !self.made.wait_until(state, deadline).timed_out(),
        }
    }

    /// A worker's life: it makes batches until the pool is closed.
    fn work(&self, worker: usize) {
        become_worker(worker, self.workers);
        let name = format!("worker {worker}");
        let mut bench = Workbench::new();
        while let Some(claim) = self.claim() {
            self.make(claim, &mut bench, &name);
        }
    }

    /// Waits for an epoch with a batch to read; `None` when the pool is closed.
    fn claim(&self) -> Option<EpochClaim<D>> {
        let mut state = self.state.lock();
        loop {
            if state.is_closed() {
                return None;
            }
            if let Some(claim) = state.claim() {
                return Some(claim);
            }
            self.work.wait(&mut state);
        }
    }

    /// Reads a batch of the epoch and makes it.
    fn make(&self, claim: EpochClaim<D>, bench: &mut Workbench<D>, name: &str) {
        let EpochClaim { id, mut reader, seeds, context, cancel } = claim;
        let mut turn = Turn { shared: self, id, batch: None, made: None };
        let _inherited = context.enter();
        let is_read = reader.read(&mut bench.read, name);
        let unwanted = self.state.lock().put_back(id, reader, is_read.then_some(bench.read.batch));
        // Others may read now, or learn that nothing is left.
        self.work.notify_one();
        discard(unwanted);
        if !is_read {
            turn.id = EpochId::NONE;
            self.made.notify_all();
            return;
        }
        turn.batch = Some(bench.read.batch);
        turn.made = self.recipe.make(bench, &Maker { thread: name, cancel: &cancel, seeds });
    }
}

/// The turn of one batch. It ends with the batch or with an error, whatever becomes of the worker:
/// the loop waits for one of the two.
struct Turn<'a, D: SampleSource> {
    shared: &'a PoolShared<D>,
    id: EpochId,
    /// `None` while it is being read.
    batch: Option<usize>,
    made: Option<Made<D::Batch>>,
}

impl<D: SampleSource> Drop for Turn<'_, D> {
    fn drop(&mut self) {
        let (made, batch) = (self.made.take(), self.batch);
        let mut state = self.shared.state.lock();
        let unwanted = state.finish(self.id, batch, made);
        let has_news = state.has_news(self.id);
        drop(state);
        // A batch that waits for those before it is no news, and waking takes longer than most
        // samples.
        if has_news {
            self.shared.made.notify_all();
        }
        discard(unwanted);
    }
}
