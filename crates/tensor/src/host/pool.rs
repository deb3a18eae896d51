//! The CPU kernels' own threads. A caller that waits for them runs nobody else's work meanwhile.

use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Error, Result};

/// The least number of elements that is worth a thread's waking up.
const GRAIN: usize = 1 << 15;

/// Pieces per thread: more than one, so that a thread which is held up does not hold up the rest.
const PIECES_PER_THREAD: usize = 4;

/// What rayon takes to mean as many threads as there are cores.
const ONE_PER_CORE: usize = 0;

/// Decides how many threads the CPU's kernels are split between. Without it there is one for each core.
///
/// It counts for the whole process and is settled at the first operation that could be split, so it
/// belongs at the beginning of a program.
///
/// # Errors
/// `threads` is 0, or another number is settled already, or the system refused the threads.
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
    let pool = POOL.get_or_init(|| start(threads));
    match pool.as_ref().map(ThreadPool::current_num_threads) {
        Some(settled) if settled != threads => {
            refuse("another number is settled already; call it before the first operation")
        }
        None if threads > 1 => refuse("the system refused to start the threads"),
        _ => Ok(()),
    }
}

/// Runs `work` on all units, in pieces on the pool where `units * cost` elements are enough for it.
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

/// The results of `work` on each of `count` indices, in order; on the pool.
pub(crate) fn map<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    run(|| (0..count).into_par_iter().map(&work).collect())
}

/// Runs `work` on a thread of the pool, so that what it splits is split there.
pub(crate) fn run<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match pool() {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// How many threads there are to split work between.
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
            assert_eq!(sum.into_inner(), (0..units).sum());
        }
    }
}
