//! The thread pool of the CPU's kernels. A thread that waits for it does no other work meanwhile.

use std::mem;
use std::num::NonZero;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, OnceLock};
use std::thread;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::shared::Latch;
use crate::{Error, Result};

/// The fewest elements that are worth waking a thread for (PyTorch's grain size).
const GRAIN: usize = 1 << 15;

/// The number of pieces per thread: more than one, so that the others can take over the work of a
/// thread that is delayed.
const PIECES_PER_THREAD: usize = 4;

/// The most threads that can be asked for, unless the machine has more cores.
const MAX_THREADS: usize = 512;

/// The number by which rayon is asked for one thread per core.
const ONE_PER_CORE: usize = 0;

/// Sets the number of threads that the CPU's kernels are split between (`torch.set_num_threads`).
/// Without a call there is one thread per core.
///
/// The number is one for the process, and cannot be changed after the first operation that is large
/// enough to be split, so this belongs at the beginning of a program.
///
/// # Errors
/// `threads` is 0, or more than 512 and more than there are cores; another number is in use
/// already; or the system refused the threads.
///
/// ```
/// tensor::set_num_threads(2)?;
/// assert!(tensor::set_num_threads(3).is_err());
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn set_num_threads(threads: usize) -> Result<()> {
    let refuse = |why| {
        let value = threads.to_string();
        Err(Error::InvalidArgument { op: "set_num_threads", argument: "threads", value, why })
    };
    if threads == 0 {
        return refuse("at least one is needed");
    }
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    if threads > MAX_THREADS.max(cores) {
        return refuse("that is more than 512, and more than there are cores");
    }
    let pool = POOL.get_or_init(|| start(threads));
    match pool.as_ref().map(ThreadPool::current_num_threads) {
        Some(settled) if settled != threads => {
            refuse("another number is settled already; call it before the first operation")
        }
        None if threads > 1 => refuse("the system refused to start the threads"),
        _ => Ok(()),
    }
}

/// Runs `work` on all units: split into pieces on the pool if `units * cost` elements are enough
/// for that, else in this thread. All is done when this returns.
pub(crate) fn split(units: usize, cost: usize, work: impl Fn(Range<usize>) + Sync) {
    let pieces = (units.saturating_mul(cost.max(1)) / GRAIN).min(units);
    if pieces < 2 || threads() < 2 {
        return work(0..units);
    }
    let piece = units.div_ceil(pieces.min(threads() * PIECES_PER_THREAD));
    run(|| {
        (0..units.div_ceil(piece)).into_par_iter().for_each(|index| {
            let start = index * piece;
            work(start..units.min(start + piece));
        });
    });
}

/// Runs `work` on each of `count` indices on the pool, and gives the results in order.
pub(crate) fn map<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    run(|| (0..count).into_par_iter().map(&work).collect())
}

/// Runs `work` on a thread of the pool, so that rayon splits it between the threads of this pool.
pub(crate) fn run<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match pool() {
        Some(pool) if is_elsewhere(pool) => hand_over(pool, work),
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// Whether this thread belongs to another pool. While such a thread waited for ours, rayon would
/// let it run tasks of its own pool: closures of the program, under the locks that this operation
/// holds.
fn is_elsewhere(pool: &ThreadPool) -> bool {
    rayon::current_thread_index().is_some() && pool.current_thread_index().is_none()
}

/// Runs `work` on a thread of the pool, while this one sleeps.
fn hand_over<R: Send>(pool: &ThreadPool, work: impl FnOnce() -> R + Send) -> R {
    let latch: Arc<Latch<thread::Result<R>>> = Arc::new(Latch::new());
    let brought = Arc::clone(&latch);
    let job = move || brought.set(panic::catch_unwind(AssertUnwindSafe(work)));
    let job: Box<dyn FnOnce() + Send + '_> = Box::new(job);
    // SAFETY: only the lifetime differs. What `work` borrows is used until the latch is set, which
    // happens however `work` ends, and this function returns after that: the pool is never dropped
    // and runs what it was given. The latch itself is owned by both sides, and empty by then.
    let job = unsafe {
        mem::transmute::<Box<dyn FnOnce() + Send + '_>, Box<dyn FnOnce() + Send + 'static>>(job)
    };
    pool.spawn(job);
    latch.wait().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
}

/// The number of threads that work is split between.
pub(crate) fn threads() -> usize {
    pool().map_or(1, ThreadPool::current_num_threads)
}

/// Without threads (the system refused them) callers do their work themselves.
static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();

fn pool() -> Option<&'static ThreadPool> {
    POOL.get_or_init(|| start(ONE_PER_CORE)).as_ref()
}

fn start(threads: usize) -> Option<ThreadPool> {
    let name = |index| format!("tensor-cpu-{index}");
    ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_unit_is_done_once() {
        for units in [0, 1, 7, 100_000] {
            let sum = AtomicUsize::new(0);
            split(units, 10, |range| {
                sum.fetch_add(range.sum::<usize>(), Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), (0..units).sum::<usize>());
        }
    }

    #[test]
    fn absurd_numbers_of_threads_are_refused() {
        for threads in [0, usize::MAX, 1 << 60, 1 << 16] {
            assert!(set_num_threads(threads).is_err(), "{threads}");
        }
    }

    #[test]
    fn what_is_run_from_another_pool_gives_its_result_or_its_panic() {
        let elsewhere = ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
        let borrowed = [1, 2, 3];
        assert_eq!(elsewhere.install(|| run(|| borrowed.iter().sum::<i32>())), 6);
        let panics = || elsewhere.install(|| run(|| panic!("as it was")));
        let panicked = panic::catch_unwind(AssertUnwindSafe(panics));
        let payload = panicked.expect_err("it is handed on");
        assert_eq!(payload.downcast_ref(), Some(&"as it was"));
    }
}
