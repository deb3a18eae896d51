//! The number of the worker that a thread is.

use std::cell::Cell;

/// The worker that a thread is: see [`get_worker_info`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerInfo {
    /// The worker's number, from 0 on.
    pub id: usize,
    /// The number of workers that the loader was asked to have.
    pub num_workers: usize,
}

thread_local! {
    static WORKER: Cell<Option<WorkerInfo>> = const { Cell::new(None) };
}

/// The worker of a loader that this thread is, or `None` in any other thread
/// (`torch.utils.data.get_worker_info`). No dataset has to ask in order to share its samples between
/// workers; it may keep a file open for each, say.
///
/// ```
/// assert_eq!(parallel::get_worker_info(), None);
/// ```
pub fn get_worker_info() -> Option<WorkerInfo> {
    WORKER.try_with(Cell::get).unwrap_or(None)
}

/// Makes this thread the worker.
pub(super) fn become_worker(id: usize, num_workers: usize) {
    WORKER.set(Some(WorkerInfo { id, num_workers }));
}
