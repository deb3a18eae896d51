//! Work of one thread that others take part in.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use crate::in_every_order;
use crate::offer::Offer;
use crate::sleeper::Sleeper;

/// An offer, and what its owner lends: loom says if anybody reads it while it is written.
struct Lent {
    offer: Offer,
    work: UnsafeCell<u64>,
    done: AtomicU64,
}

// SAFETY: loom fails the test if the cell is read and written at once.
unsafe impl Sync for Lent {}
// SAFETY: the cell holds a number, which may be sent.
unsafe impl Send for Lent {}

#[test]
fn what_is_lent_is_read_within_its_round_only() {
    in_every_order(|| {
        let lent = Arc::new(Lent {
            offer: Offer::new(),
            work: UnsafeCell::new(0),
            done: AtomicU64::new(0),
        });
        let help = || {
            let lent = Arc::clone(&lent);
            thread::spawn(move || {
                let mut seen = 0;
                for _ in 0..2 {
                    if let Some(round) = lent.offer.join(seen) {
                        assert!(round > seen, "each round is joined once");
                        seen = round;
                        // SAFETY: within a round nobody writes it, as loom checks.
                        let work = lent.work.with(|work| unsafe { *work });
                        assert_eq!(work, round, "what was written before the round");
                        lent.done.fetch_add(1, Ordering::Relaxed);
                        lent.offer.leave();
                    }
                }
                seen
            })
        };
        let helpers = [help(), help()];
        for round in 1..=2 {
            // SAFETY: no round is open, as loom checks.
            lent.work.with_mut(|work| unsafe { *work = round });
            lent.offer.open();
            if lent.offer.close() {
                lent.offer.wait();
            }
            assert!(lent.offer.is_over());
        }
        // SAFETY: no round is open, as loom checks.
        lent.work.with_mut(|work| unsafe { *work = 3 });
        let rounds = helpers.map(|helper| helper.join().expect("no panic"));
        assert!(rounds.iter().all(|&round| round <= 2));
    });
}

#[test]
fn what_is_done_in_a_round_is_seen_at_its_end() {
    in_every_order(|| {
        let lent = Arc::new(Lent {
            offer: Offer::new(),
            work: UnsafeCell::new(0),
            done: AtomicU64::new(0),
        });
        let helper = {
            let lent = Arc::clone(&lent);
            thread::spawn(move || {
                let round = lent.offer.join(0);
                if round.is_some() {
                    // SAFETY: the owner looks after the round, as loom checks.
                    lent.work.with_mut(|work| unsafe { *work = 7 });
                    lent.offer.leave();
                }
                round
            })
        };
        lent.offer.open();
        if lent.offer.close() {
            lent.offer.wait();
        }
        // SAFETY: the round is over, as loom checks.
        let seen = lent.work.with(|work| unsafe { *work });
        let joined = helper.join().expect("no panic").is_some();
        assert_eq!(seen, if joined { 7 } else { 0 });
    });
}

#[test]
fn who_falls_asleep_while_a_round_opens_is_woken() {
    in_every_order(|| {
        let shared = Arc::new((Offer::new(), Sleeper::new()));
        let sleeper = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (offer, sleeper) = &*shared;
                sleeper.sleep(|| offer.is_open(0));
                assert!(offer.join(0).is_some(), "it was woken for a round");
                offer.leave();
            })
        };
        let (offer, sleep) = &*shared;
        offer.open();
        sleep.wake();
        sleeper.join().expect("no panic");
        assert!(!offer.close());
    });
}
