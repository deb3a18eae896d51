//! Work of one thread that others may take part in, while it lasts.

use super::sync::{AtomicU64, Condvar, Mutex, Ordering, fence};

/// The bit of the state that is set while others may join.
const OPEN: u64 = 1 << 16;

/// The number that a round adds to the state. Below it lie [`OPEN`] and the number of those who have joined.
const ROUND: u64 = OPEN << 1;

/// Rounds of work that an owner offers, one after the other. Others join a round while it is open,
/// and leave it when they find nothing left to do. A round ends when all who joined have left, so
/// what the owner lends to it is used no longer.
pub(crate) struct Offer {
    state: AtomicU64,
    leaving: Mutex<()>,
    all_left: Condvar,
}

impl Offer {
    /// An offer of which no round is open.
    pub(crate) fn new() -> Offer {
        Offer { state: AtomicU64::new(0), leaving: Mutex::new(()), all_left: Condvar::new() }
    }

    /// Opens the next round. Who joins it sees what the owner did before. There is one owner at a
    /// time, and it has ended the round before.
    pub(crate) fn open(&self) {
        let before = self.state.load(Ordering::Relaxed);
        self.state.store(((before / ROUND + 1) * ROUND) | OPEN, Ordering::Release);
        // Whoever falls asleep sees the round, or is seen asleep: the other half is in `Sleeper`.
        fence(Ordering::SeqCst);
    }

    /// Whether a round is open that comes after round `seen`.
    pub(crate) fn is_open(&self, seen: u64) -> bool {
        is_new(self.state.load(Ordering::Relaxed), seen)
    }

    /// Joins the round that is open, if it comes after round `seen`, and gives its number. Who has
    /// joined calls [`Offer::leave`], once.
    #[must_use]
    pub(crate) fn join(&self, seen: u64) -> Option<u64> {
        let mut state = self.state.load(Ordering::Relaxed);
        while is_new(state, seen) {
            let joined = state + 1;
            match self.state.compare_exchange(state, joined, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(state / ROUND),
                Err(newer) => state = newer,
            }
        }
        None
    }

    /// Leaves the round. The owner sees all that was done in it before.
    pub(crate) fn leave(&self) {
        let before = self.state.fetch_sub(1, Ordering::Release);
        if before % ROUND == 1 {
            // The round is closed and this was the last: its owner may sleep, or be about to.
            drop(self.leaving.lock());
            self.all_left.notify_one();
        }
    }

    /// Closes the round to those who have not joined. Whether some are still in it.
    #[must_use]
    pub(crate) fn close(&self) -> bool {
        joined(self.state.fetch_and(!OPEN, Ordering::Acquire)) > 0
    }

    /// Whether all have left a round that is closed.
    pub(crate) fn is_over(&self) -> bool {
        joined(self.state.load(Ordering::Acquire)) == 0
    }

    /// Sleeps until all have left a round that is closed.
    pub(crate) fn wait(&self) {
        let mut leaving = self.leaving.lock();
        while !self.is_over() {
            self.all_left.wait(&mut leaving);
        }
    }
}

/// The number of those who have joined and not left.
fn joined(state: u64) -> u64 {
    state % OPEN
}

fn is_new(state: u64, seen: u64) -> bool {
    state & OPEN != 0 && state / ROUND != seen
}
