//! The pool's threads, and the work that they are called to.

use std::any::Any;
use std::cell::UnsafeCell;
use std::iter;
use std::mem;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;

use super::patience;
use crate::shared::{Offer, Sleeper};

/// The threads beside the caller's. They are never ended.
pub(super) struct Crew {
    /// Whether a caller has the threads, and with them the rest of this.
    is_busy: AtomicBool,
    offer: Offer,
    /// Written by who has the threads, while nobody can be in a round.
    job: UnsafeCell<PoolJob>,
    /// The first unit that nobody has taken.
    next: AtomicUsize,
    panicked: Mutex<Option<Box<dyn Any + Send>>>,
    helpers: Vec<Sleeper>,
    was_refused: bool,
}

// SAFETY: the only thing that is not `Sync` is the job. It is written by who has set `is_busy`, and
// read in a round of the offer, which who has set it opens after that and ends before it is reset.
unsafe impl Sync for Crew {}
// SAFETY: a job is an address that is used while its caller waits, in any thread; see `call`.
unsafe impl Send for Crew {}

/// A caller's work.
#[derive(Clone, Copy)]
struct PoolJob {
    units: usize,
    /// Units that are taken at a time.
    piece: usize,
    work: *const (),
    /// # Safety
    /// The address is `work`, in a round of the job.
    call: unsafe fn(*const (), Range<usize>),
}

impl Crew {
    /// Starts the threads, one less than `threads` since the caller is one, or none if the system
    /// refuses one of them.
    pub(super) fn start(threads: usize) -> &'static Crew {
        let refused = || Box::leak(Box::new(Crew::new(0, true)));
        let crew: &'static Crew = Box::leak(Box::new(Crew::new(threads - 1, false)));
        for number in 0..crew.helpers.len() {
            let builder = thread::Builder::new().name(format!("tensor-cpu-{number}"));
            if builder.spawn(move || crew.help(number)).is_err() {
                // Those that run already sleep for ever.
                return refused();
            }
        }
        crew
    }

    fn new(helpers: usize, was_refused: bool) -> Crew {
        Crew {
            is_busy: AtomicBool::new(false),
            offer: Offer::new(),
            job: UnsafeCell::new(PoolJob {
                units: 0,
                piece: 0,
                work: &raw const NOBODY,
                call: nothing,
            }),
            next: AtomicUsize::new(0),
            panicked: Mutex::new(None),
            helpers: iter::repeat_with(Sleeper::new).take(helpers).collect(),
            was_refused,
        }
    }

    /// The number of threads, the caller's among them.
    pub(super) fn threads(&self) -> usize {
        self.helpers.len() + 1
    }

    /// Whether the system did not start as many as were asked for.
    pub(super) fn was_refused(&self) -> bool {
        self.was_refused
    }

    /// Runs `work` on all units, `piece` at a time.
    pub(super) fn run<W: Fn(Range<usize>) + Sync>(&self, units: usize, piece: usize, work: &W) {
        if piece >= units || self.helpers.is_empty() || !self.acquire() {
            return work(0..units);
        }
        let job = PoolJob { units, piece, work: (&raw const *work).cast(), call: call::<W> };
        // SAFETY: this thread has the threads, and no round is open, so nobody reads it.
        unsafe { *self.job.get() = job };
        self.next.store(0, Ordering::Relaxed);
        self.offer.open();
        self.wake_next(0);
        // SAFETY: the round that was opened ends below.
        unsafe { self.take_part(job) };
        if self.offer.close() && !patience::wait_for(|| self.offer.is_over()) {
            self.offer.wait();
        }
        let panicked = self.panicked.lock().take();
        self.is_busy.store(false, Ordering::Release);
        if let Some(payload) = panicked {
            panic::resume_unwind(payload);
        }
    }

    /// Takes the threads, if nobody else has them.
    fn acquire(&self) -> bool {
        !self.is_busy.load(Ordering::Relaxed) && !self.is_busy.swap(true, Ordering::Acquire)
    }

    /// Wakes two more threads. Each that joins does the same, so that a caller does not have to wake
    /// all of them one after the other; `rank` is 0 for the caller, and a helper's number plus 1.
    fn wake_next(&self, rank: usize) {
        for helper in self.helpers.iter().skip(2 * rank).take(2) {
            helper.wake();
        }
    }

    /// The life of one of the threads.
    fn help(&self, number: usize) {
        let mut seen = 0;
        loop {
            let Some(round) = self.offer.join(seen) else {
                if !patience::wait_for(|| self.offer.is_open(seen)) {
                    self.helpers[number].sleep(|| self.offer.is_open(seen));
                }
                continue;
            };
            seen = round;
            self.wake_next(number + 1);
            // SAFETY: this thread is in the round, so the job was written before and is not again
            // until it has left.
            unsafe { self.take_part(*self.job.get()) };
            self.offer.leave();
        }
    }

    /// Does pieces of the job until none is left. A panic is kept for the caller, and leaves no
    /// pieces to take.
    ///
    /// # Safety
    /// The thread is in the job's round.
    unsafe fn take_part(&self, job: PoolJob) {
        let pieces = AssertUnwindSafe(|| {
            loop {
                let start = self.next.fetch_add(job.piece, Ordering::Relaxed);
                if start >= job.units {
                    break;
                }
                // SAFETY: the round lasts, and the address is that of the job.
                unsafe {
                    (job.call)(job.work, start..job.units.min(start.saturating_add(job.piece)))
                };
            }
        });
        if let Err(payload) = panic::catch_unwind(pieces) {
            self.next.store(job.units, Ordering::Relaxed);
            let mut panicked = self.panicked.lock();
            match *panicked {
                // It is never dropped: its destructor could panic, and end the thread.
                Some(_) => mem::forget(payload),
                None => *panicked = Some(payload),
            }
        }
    }
}

/// # Safety
/// The address is that of a `W`, which lives for the call.
unsafe fn call<W: Fn(Range<usize>) + Sync>(work: *const (), range: Range<usize>) {
    // SAFETY: it is one, and `W` is `Sync`, so that several threads may use it.
    let work = unsafe { &*work.cast::<W>() };
    work(range);
}

/// The address of no work.
static NOBODY: () = ();

/// # Safety
/// There is nothing to see to: it does nothing.
unsafe fn nothing(_: *const (), _: Range<usize>) {}
