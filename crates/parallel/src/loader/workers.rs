//! The worker threads of one epoch.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, Sender, unbounded};
use gpu_runtime::panics::discard;
use tensor::ExecutionContext;

use super::task::{Maker, Recipe, Task};
use super::{BatchOf, LoaderError};
use crate::{Collate, Dataset};

/// The result of a task.
type Made<B> = Result<B, LoaderError>;

/// Threads that make batches from tasks, in any order, and the batches that were made before their
/// turn.
///
/// The channels are unbounded, and yet nothing piles up: whoever sends tasks keeps count.
pub(super) struct Workers<B> {
    tasks: Option<Sender<Task>>,
    made: Receiver<(usize, Made<B>)>,
    early: BTreeMap<usize, Made<B>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl<B> Workers<B> {
    /// Starts `count` threads that inherit the calling thread's execution context.
    ///
    /// # Errors
    /// The system starts no more threads. Those that it did start are ended.
    pub(super) fn start<D>(recipe: &Arc<Recipe<D>>, count: usize) -> Result<Self, LoaderError>
    where
        D: Dataset + 'static,
        D::Sample: Collate<Batch = B> + 'static,
        B: Send + 'static,
    {
        let (tasks, incoming) = unbounded();
        let (outgoing, made) = unbounded();
        let stop = Arc::new(AtomicBool::new(false));
        let (early, threads) = (BTreeMap::new(), Vec::new());
        let mut workers = Workers { tasks: Some(tasks), made, early, stop, threads };
        for worker in 0..count {
            let (incoming, outgoing) = (incoming.clone(), outgoing.clone());
            let (recipe, stop) = (Arc::clone(recipe), Arc::clone(&workers.stop));
            let context = ExecutionContext::capture();
            let body = move || {
                let _inherited = context.enter();
                work(&recipe, worker, &incoming, &outgoing, &stop);
                // It may be the last to hold the dataset.
                discard(recipe);
            };
            let thread = std::thread::Builder::new()
                .name(format!("loader-{worker}"))
                .spawn(body)
                .map_err(|source| LoaderError::Spawn { worker, source })?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    pub(super) fn send(&self, task: Task) {
        if let Some(tasks) = &self.tasks {
            // Fails only when all workers are gone, which `wait_for` then reports.
            let _ = tasks.send(task);
        }
    }

    /// A batch, if it is made.
    pub(super) fn take(&mut self, batch: usize) -> Option<Made<B>> {
        self.early.extend(self.made.try_iter());
        self.early.remove(&batch)
    }

    /// A batch, once it is made.
    ///
    /// # Errors
    /// All workers are gone.
    pub(super) fn wait_for(&mut self, batch: usize) -> Result<Made<B>, LoaderError> {
        loop {
            if let Some(made) = self.take(batch) {
                return Ok(made);
            }
            let received = self.made.recv();
            let (number, made) = received.map_err(|_| LoaderError::WorkersGone { batch })?;
            self.early.insert(number, made);
        }
    }
}

impl<B> Drop for Workers<B> {
    /// Ends the threads after the sample at hand, and joins them: none outlives the epoch.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.tasks = None;
        for thread in self.threads.drain(..) {
            if let Err(payload) = thread.join() {
                discard(payload);
            }
        }
        // What nobody took may panic when it is dropped, too.
        self.early.extend(self.made.try_iter());
        std::mem::take(&mut self.early).into_values().for_each(discard);
    }
}

/// A worker's life: it makes batches until there are no more tasks, or until it is told to stop.
fn work<D>(
    recipe: &Recipe<D>,
    worker: usize,
    incoming: &Receiver<Task>,
    outgoing: &Sender<(usize, Made<BatchOf<D>>)>,
    stop: &AtomicBool,
) where
    D: Dataset,
    D::Sample: Collate,
{
    let maker = Maker { thread: &format!("worker {worker}"), stop };
    for task in incoming {
        let mut turn = Turn { batch: task.batch, made: None, outgoing };
        turn.made = recipe.make(&task, &maker);
        if turn.made.is_none() {
            return;
        }
    }
}

/// The turn of one batch. It ends with the batch or with an error, whatever becomes of the worker:
/// the loop waits for one of the two.
struct Turn<'a, B> {
    batch: usize,
    made: Option<Made<B>>,
    outgoing: &'a Sender<(usize, Made<B>)>,
}

impl<B> Drop for Turn<'_, B> {
    fn drop(&mut self) {
        let batch = self.batch;
        let made = self.made.take().unwrap_or(Err(LoaderError::WorkerGone { batch }));
        if let Err(unwanted) = self.outgoing.send((batch, made)) {
            discard(unwanted);
        }
    }
}
