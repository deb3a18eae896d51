//! The threads that work is split between.
//!
//! The caller takes part in its own work; the pool's threads help. Between pieces of work they look
//! for more for up to a millisecond, and sleep after that. A call while the pool works for another
//! thread, or from within work of the pool, is done by its caller alone: it neither waits nor makes
//! more threads run than there are. Nothing is allocated by a call, and what `work` borrows is used
//! until the call returns, and no longer.

use std::num::NonZero;
use std::ops::Range;
use std::sync::OnceLock;
use std::thread;

use crew::Crew;

mod crew;
mod patience;
#[cfg(test)]
mod tests;

/// The fewest bytes that are worth a piece of their own: some ten microseconds' work, beside about
/// one for handing it to a thread that is awake.
const GRAIN: usize = 1 << 18;

/// The number of pieces per thread: more than one, so that the others can take over the work of a
/// thread that is delayed.
const PIECES_PER_THREAD: usize = 4;

/// The most threads that can be asked for, unless the machine has more cores.
const MAX_THREADS: usize = 512;

/// The reason for which a number of threads was not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetThreadsError {
    /// The number is 0.
    #[error("at least one is needed")]
    Zero,
    /// The number is absurd.
    #[error("that is more than 512, and more than there are cores")]
    TooMany,
    /// Another number is in use.
    #[error("another number is settled already; call it before the first operation")]
    Settled,
    /// The system did not start the threads.
    #[error("the system refused to start the threads")]
    Refused,
}

/// Sets the number of threads that work is split between, the caller's among them. Without a call
/// there is one per core.
///
/// The number is one for the process, and cannot be changed after the first work that is large
/// enough to be split.
///
/// # Errors
/// See [`SetThreadsError`].
///
/// ```
/// use cpu_kernels::pool::{SetThreadsError, set_num_threads, threads};
///
/// set_num_threads(2)?;
/// assert_eq!(threads(), 2);
/// assert_eq!(set_num_threads(3), Err(SetThreadsError::Settled));
/// # Ok::<(), SetThreadsError>(())
/// ```
pub fn set_num_threads(threads: usize) -> Result<(), SetThreadsError> {
    if threads == 0 {
        return Err(SetThreadsError::Zero);
    }
    if threads > MAX_THREADS.max(cores()) {
        return Err(SetThreadsError::TooMany);
    }
    match CREW.get_or_init(|| Crew::start(threads)) {
        crew if crew.threads() == threads => Ok(()),
        crew if crew.was_refused() => Err(SetThreadsError::Refused),
        _ => Err(SetThreadsError::Settled),
    }
}

/// The number of threads that work is split between, the caller's among them.
pub fn threads() -> usize {
    crew().threads()
}

/// Runs `work` on all units, in pieces that several threads take in turn, or in the calling thread
/// alone if that is not worth it. All is done when this returns.
///
/// `cost` is the number of bytes that a unit reads and writes. Work that takes longer than moving
/// its bytes says how many could be moved in that time: some 25 per nanosecond.
///
/// # Panics
/// `work` panics, in any thread. Pieces that were not begun by then are left out.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let numbers: Vec<u64> = (0..1_000_000).collect();
/// let sum = AtomicU64::new(0);
/// cpu_kernels::pool::split(numbers.len(), size_of::<u64>(), |range| {
///     sum.fetch_add(numbers[range].iter().sum(), Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 499_999_500_000);
/// ```
#[inline]
pub fn split(units: usize, cost: usize, work: impl Fn(Range<usize>) + Sync) {
    let pieces = (units.saturating_mul(cost.max(1)) / GRAIN).min(units);
    if pieces < 2 {
        return work(0..units);
    }
    let threads = threads();
    // As many for each thread: with one piece more than threads, that one would double the time.
    let even = if pieces > threads { pieces - pieces % threads } else { pieces };
    crew().run(units, units.div_ceil(even.min(threads * PIECES_PER_THREAD)), &work);
}

/// Runs `work` on each of `count` indices, each a piece of its own, however little it is.
///
/// # Panics
/// As [`split`].
pub(crate) fn each(count: usize, work: impl Fn(usize) + Sync) {
    crew().run(count, 1, &|range: Range<usize>| range.for_each(&work));
}

/// Runs `work` on each of `count` indices, each a piece of its own, and gives the results in order.
///
/// # Panics
/// `work` panics, in any thread.
///
/// ```
/// assert_eq!(cpu_kernels::pool::map(3, |index| index * index), [0, 1, 4]);
/// ```
pub fn map<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let mut results: Vec<Option<R>> = (0..count).map(|_| None).collect();
    let slots = ResultSlots(results.as_mut_ptr());
    each(count, |index| {
        let result = work(index);
        // SAFETY: the index is less than the number of slots, and in one piece only. The slots live
        // until `each` returns.
        unsafe { *slots.at(index) = Some(result) };
    });
    results.into_iter().map(|result| result.expect("every index is in a piece")).collect()
}

/// The places of the results, of which each is written by one thread.
struct ResultSlots<R>(*mut Option<R>);

// SAFETY: threads bring results, which can be sent, each to places of its own.
unsafe impl<R: Send> Sync for ResultSlots<R> {}

impl<R> ResultSlots<R> {
    /// # Safety
    /// There are more than `index` slots.
    unsafe fn at(&self, index: usize) -> *mut Option<R> {
        // SAFETY: there are so many.
        unsafe { self.0.add(index) }
    }
}

static CREW: OnceLock<&'static Crew> = OnceLock::new();

fn crew() -> &'static Crew {
    CREW.get_or_init(|| Crew::start(cores()))
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}
