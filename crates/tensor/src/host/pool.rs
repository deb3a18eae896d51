//! The CPU kernels' own threads. A caller that waits for them runs nobody else's work meanwhile.

use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The least number of elements that is worth a thread's waking up.
const GRAIN: usize = 1 << 15;

/// Pieces per thread: more than one, so that a thread which is held up does not hold up the rest.
const PIECES_PER_THREAD: usize = 4;

/// Runs `work` on all units, in pieces on the pool where `units * cost` elements are enough for it.
pub(crate) fn split(units: usize, cost: usize, work: impl Fn(Range<usize>) + Sync) {
    let pieces = (units.saturating_mul(cost.max(1)) / GRAIN).min(units);
    let threads = threads();
    if pieces < 2 || threads < 2 {
        return work(0..units);
    }
    let piece = units.div_ceil(pieces.min(threads * PIECES_PER_THREAD));
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

/// One thread per core. Without threads (the system refused them) callers do their work themselves.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| {
        ThreadPoolBuilder::new().thread_name(|index| format!("tensor-cpu-{index}")).build().ok()
    })
    .as_ref()
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
