//! The worker threads of one epoch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, Sender, unbounded};
use tensor::ExecutionContext;

use super::task::{Recipe, Task};
use super::{BatchOf, LoaderError};
use crate::{Collate, Dataset};

/// A batch with its number.
pub(super) type Made<D> = (usize, Result<BatchOf<D>, LoaderError>);

/// Threads that make batches from tasks, in any order.
///
/// The channels are unbounded, and yet nothing piles up: whoever sends tasks keeps count.
pub(super) struct Workers<D: Dataset>
where
    D::Sample: Collate,
{
    tasks: Option<Sender<Task>>,
    made: Receiver<Made<D>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl<D> Workers<D>
where
    D: Dataset + 'static,
    D::Sample: Collate + 'static,
    BatchOf<D>: Send + 'static,
{
    /// Starts `count` threads that inherit the calling thread's execution context.
    pub(super) fn start(recipe: &Arc<Recipe<D>>, count: usize) -> Result<Self, LoaderError> {
        let (tasks, incoming) = unbounded();
        let (outgoing, made) = unbounded();
        let stop = Arc::new(AtomicBool::new(false));
        let mut workers = Workers { tasks: Some(tasks), made, stop, threads: Vec::new() };
        for worker in 0..count {
            let (incoming, outgoing) = (incoming.clone(), outgoing.clone());
            let (recipe, stop) = (Arc::clone(recipe), Arc::clone(&workers.stop));
            let context = ExecutionContext::capture();
            let body = move || {
                let _inherited = context.enter();
                work(&recipe, worker, &incoming, &outgoing, &stop);
            };
            let thread = std::thread::Builder::new()
                .name(format!("loader-{worker}"))
                .spawn(body)
                .map_err(|source| LoaderError::Spawn { worker, source })?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }
}

impl<D> Workers<D>
where
    D: Dataset,
    D::Sample: Collate,
{
    pub(super) fn send(&self, task: Task) {
        if let Some(tasks) = &self.tasks {
            // Fails only when all workers are gone, which `receive` then reports.
            let _ = tasks.send(task);
        }
    }

    /// The next batch that is made, or `None` when all workers are gone.
    pub(super) fn receive(&self) -> Option<Made<D>> {
        self.made.recv().ok()
    }

    /// A batch that is made already.
    pub(super) fn try_receive(&self) -> Option<Made<D>> {
        self.made.try_recv().ok()
    }
}

impl<D: Dataset> Drop for Workers<D>
where
    D::Sample: Collate,
{
    /// Ends the threads after the sample at hand, and joins them: none outlives the epoch.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.tasks = None;
        for thread in self.threads.drain(..) {
            // A worker catches its panics; if one got through, the thread is gone all the same.
            let _ = thread.join();
        }
    }
}

fn work<D>(
    recipe: &Recipe<D>,
    worker: usize,
    incoming: &Receiver<Task>,
    outgoing: &Sender<Made<D>>,
    stop: &AtomicBool,
) where
    D: Dataset,
    D::Sample: Collate,
{
    let name = format!("worker {worker}");
    for task in incoming {
        let Some(made) = recipe.make(&task, &name, stop) else { return };
        if outgoing.send((task.batch, made)).is_err() {
            return;
        }
    }
}
