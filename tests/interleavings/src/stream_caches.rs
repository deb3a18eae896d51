//! Parts of a policy that are lent to threads and taken back, and what is counted there.

use std::sync::Arc;

use loom::sync::Mutex;
use loom::thread;

use self::checked_out::CheckedOut;
use self::local_stats::{LocalStats, headroom_below_peaks};
use self::statistics::{MemoryStats, Pool, PoolStatistics};
use self::sync::{AtomicU64, Ordering};
use crate::in_every_order;

#[path = "../../../crates/gpu-alloc/src/policy/stream_caches/checked_out.rs"]
mod checked_out;
#[allow(dead_code, reason = "half of it is of no interest here")]
#[path = "../../../crates/gpu-alloc/src/policy/stream_caches/local_stats.rs"]
mod local_stats;
#[allow(dead_code, unreachable_pub, reason = "elsewhere it is public, and all of it is used")]
#[path = "../../../crates/gpu-alloc/src/policy/report/statistics.rs"]
mod statistics;

mod sync {
    pub(super) use loom::hint::spin_loop;
    pub(super) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    pub(super) use loom::thread::yield_now;

    /// With one look, no thread that is interrupted while it has a lock is waited for by accident.
    pub(super) const LOOKS: u32 = 1;

    #[derive(Debug)]
    pub(super) struct Lock<T>(loom::sync::Mutex<T>);

    impl<T> Lock<T> {
        pub(super) fn new(value: T) -> Self {
            Lock(loom::sync::Mutex::new(value))
        }

        pub(super) fn try_lock(&self) -> Option<loom::sync::MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PoolId(pub(crate) u64);

const BYTES: u64 = 512;

/// A policy that counts, and lends two parts of itself under the names 0 and 1.
struct Counting {
    statistics: MemoryStats,
}

struct Shared {
    checked_out: CheckedOut<LocalStats>,
    policy: Mutex<Counting>,
}

impl Shared {
    fn new() -> Arc<Shared> {
        let shared = Shared {
            checked_out: CheckedOut::new(2),
            policy: Mutex::new(Counting { statistics: MemoryStats::default() }),
        };
        (0..2).for_each(|part| shared.checked_out.lend(part, part as u64, LocalStats::default()));
        Arc::new(shared)
    }

    /// Hands out a block of a part.
    fn allocate(&self, part: usize) {
        assert_eq!(self.checked_out.place_of(part as u64), Some(part));
        let count = |stats: &mut LocalStats| stats.take(Pool::Small, BYTES, BYTES);
        if self.checked_out.with(part, count) == Some(true) {
            return;
        }
        let mut policy = self.policy.lock().unwrap();
        self.checked_out.take_back(|stats| stats.add_to(&mut policy.statistics));
        policy.statistics.count_allocation(Pool::Small, BYTES, BYTES);
        let headroom = headroom_below_peaks(&policy.statistics);
        self.checked_out.lend(part, part as u64, LocalStats::with_half(&headroom));
        self.checked_out.lend(1 - part, 1 - part as u64, LocalStats::with_part(&headroom, 1));
    }

    /// Takes a block of a part back.
    fn free(&self, part: usize) {
        let count = |stats: &mut LocalStats| stats.give_back(Pool::Small, BYTES, BYTES);
        if self.checked_out.with(part, count).is_some() {
            return;
        }
        let mut policy = self.policy.lock().unwrap();
        self.checked_out.take_back(|stats| stats.add_to(&mut policy.statistics));
        policy.statistics.count_free(Pool::Small, BYTES);
        policy.statistics.count_free_completed(Pool::Small, BYTES, BYTES);
    }

    fn statistics(&self) -> MemoryStats {
        let mut policy = self.policy.lock().unwrap();
        self.checked_out.take_back(|stats| stats.add_to(&mut policy.statistics));
        policy.statistics.clone()
    }
}

#[test]
fn the_peak_of_what_two_threads_hold_at_once_is_known() {
    in_every_order(|| {
        let shared = Shared::new();
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || other.allocate(1));
        shared.allocate(0);
        thread.join().unwrap();
        let counts = shared.statistics().allocation.all;
        assert_eq!((counts.current, counts.peak, counts.allocated), (2, 2, 2));
    });
}

#[test]
fn what_is_counted_apart_adds_up_and_is_no_higher_peak_than_there_was() {
    in_every_order(|| {
        let shared = Shared::new();
        // From here on each part has headroom for a block.
        (0..2).for_each(|part| shared.allocate(part));
        (0..2).for_each(|part| shared.free(part));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.allocate(1);
            other.free(1);
        });
        let looked = shared.statistics().allocated_bytes.all;
        assert!(looked.current <= BYTES && looked.peak == 2 * BYTES);
        shared.allocate(0);
        thread.join().unwrap();
        let bytes = shared.statistics().allocated_bytes.all;
        assert_eq!((bytes.current, bytes.peak), (BYTES, 2 * BYTES));
        assert_eq!((bytes.allocated, bytes.freed), (4 * BYTES, 3 * BYTES));
    });
}

#[test]
fn what_is_lent_is_one_threads_at_a_time_and_nothing_of_it_is_lost() {
    in_every_order(|| {
        let lent = Arc::new(CheckedOut::new(1));
        lent.lend(0, 7, 0_u64);
        let user = Arc::clone(&lent);
        let thread = thread::spawn(move || {
            let add = |value: &mut u64| *value += 1;
            u64::from(user.with(0, add).is_some()) + u64::from(user.with(0, add).is_some())
        });
        let mut found = None;
        lent.take_back(|value| found = Some(value));
        let before = found.expect("it was lent");
        assert!(lent.is_empty());
        lent.lend(0, 7, before + 10);
        let added = thread.join().unwrap();
        assert_eq!(lent.place_of(7), Some(0));
        assert_eq!(lent.with(0, |value| *value), Some(10 + added));
    });
}

#[test]
fn nobody_takes_what_is_lent_under_another_name_for_what_was_at_its_place() {
    in_every_order(|| {
        let lent = Arc::new(CheckedOut::new(1));
        lent.lend(0, 7, (7, 0_u64));
        let user = Arc::clone(&lent);
        let thread = thread::spawn(move || {
            // As a stream cache does: it serves nobody but whose it is.
            let add = |(name, count): &mut (u64, u64)| *count += u64::from(*name == 7);
            user.place_of(7).map(|place| user.with(place, add))
        });
        let mut left = None;
        lent.take_back(|value| left = Some(value));
        let (_, before) = left.expect("it was lent");
        lent.lend(0, 8, (8, before));
        thread.join().unwrap();
        assert_eq!((lent.place_of(7), lent.place_of(8)), (None, Some(0)));
        assert_eq!(lent.with(0, |value| *value), Some((8, before)));
    });
}

#[test]
fn the_owner_finds_what_is_lent_while_others_are_at_it() {
    in_every_order(|| {
        let lent = Arc::new(CheckedOut::new(1));
        lent.lend(0, 7, ());
        // What both look at, so that the other may be interrupted while it has the lock.
        let steps = Arc::new(AtomicU64::new(0));
        let user = (Arc::clone(&lent), Arc::clone(&steps));
        let thread = thread::spawn(move || {
            let (lent, steps) = user;
            lent.with(0, |()| {
                steps.fetch_add(1, Ordering::Relaxed);
                steps.fetch_add(1, Ordering::Relaxed);
            })
        });
        steps.load(Ordering::Relaxed);
        assert!(lent.look(0, |()| ()).is_some(), "only the owner could take it back");
        thread.join().unwrap();
        lent.take_back(drop);
        assert!(lent.look(0, |()| ()).is_none());
    });
}
