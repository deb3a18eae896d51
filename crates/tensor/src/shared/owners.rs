//! The number of owners of a piece of memory, from which follows who may free it, and who may write
//! it in place.

use super::sync::{AtomicU64, Ordering, fence};

/// The number of owners, of whom each may read the memory, and of weak handles, which keep the
/// memory but not what is in it.
///
/// Both numbers are in one word, as in PyTorch's `intrusive_ptr`: an owner that finds itself alone,
/// without weak handles, by one load, knows that nobody can join any more, and needs no atomic
/// change to leave. For a tensor of a few elements such changes would be a third of the time that
/// an operation takes.
///
/// Where a lock guards who joins, as in a storage that hands out snapshots, the sole owner that
/// holds it for writing may write the memory.
pub(crate) struct Owners(AtomicU64);

/// One weak handle. All owners together count as one, too, until the last has dropped the contents.
const WEAK: u64 = 1 << 32;

/// One owner without weak handles.
const SOLE: u64 = WEAK + 1;

/// The most owners and weak handles; beyond, handles were forgotten without end.
const MOST: u64 = i32::MAX as u64;

/// The number of owners in the word.
#[inline]
fn owners(word: u64) -> u64 {
    word % WEAK
}

/// The number of weak handles in the word, with that of all owners.
#[inline]
fn weak(word: u64) -> u64 {
    word / WEAK
}

impl Owners {
    /// The number for memory that was just made: one.
    #[inline]
    pub(crate) fn one() -> Owners {
        Owners(AtomicU64::new(SOLE))
    }

    /// Counts one more, whom an owner makes.
    ///
    /// # Panics
    /// There are more than two billion: they were forgotten.
    #[inline]
    pub(crate) fn join(&self) {
        // Relaxed: who is made an owner is told of the memory by one, and that orders them.
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        if owners(before) > MOST {
            self.0.fetch_sub(1, Ordering::Relaxed);
            panic!("too many handles or guards of one tensor were forgotten");
        }
    }

    /// Counts one less, who has read what it wanted. Whether that was the last: it drops the
    /// contents, and then asks [`Owners::leave_weak`] whether to free the memory.
    #[must_use]
    #[inline]
    pub(crate) fn leave(&self) -> bool {
        if self.is_sole() {
            return true;
        }
        // What this owner has read comes before what the last one, or a later writer, does.
        let is_last = owners(self.0.fetch_sub(1, Ordering::Release)) == 1;
        if is_last {
            fence(Ordering::Acquire);
        }
        is_last
    }

    /// Whether there is one owner only, and no weak handle, after all that others have read who
    /// were owners.
    #[inline]
    pub(crate) fn is_sole(&self) -> bool {
        self.0.load(Ordering::Acquire) == SOLE
    }

    /// The number of owners.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        owners(self.0.load(Ordering::Acquire))
    }

    /// Counts one weak handle more, which an owner or a weak handle makes.
    ///
    /// # Panics
    /// As [`Owners::join`].
    pub(crate) fn join_weak(&self) {
        let before = self.0.fetch_add(WEAK, Ordering::Relaxed);
        if weak(before) > MOST {
            self.0.fetch_sub(WEAK, Ordering::Relaxed);
            panic!("too many weak handles of one tensor were forgotten");
        }
    }

    /// Counts one weak handle less, or all owners after the last has dropped the contents. Whether
    /// that was the last: it frees the memory.
    #[must_use]
    #[inline]
    pub(crate) fn leave_weak(&self) -> bool {
        // Nobody is left who could make another.
        if weak(self.0.load(Ordering::Acquire)) == 1 {
            return true;
        }
        let is_last = weak(self.0.fetch_sub(WEAK, Ordering::Release)) == 1;
        if is_last {
            fence(Ordering::Acquire);
        }
        is_last
    }

    /// Makes a weak handle an owner beside the ones there are. `false` if there is none.
    #[must_use]
    pub(crate) fn upgrade(&self) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        while owners(word) > 0 {
            match self.0.compare_exchange_weak(word, word + 1, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }
}
