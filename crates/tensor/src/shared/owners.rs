//! The number of owners of a piece of memory, from which follows who may free it, and who may write
//! it in place.

use super::sync::{AtomicUsize, Ordering, fence};

/// The number of owners, of whom each may read the memory.
///
/// One of them, the storage, hands the memory out, under its lock: while it holds that for writing
/// and is the sole owner, nobody else can become one.
pub(crate) struct Owners(AtomicUsize);

impl Owners {
    /// The number for memory that was just made: one.
    pub(crate) fn one() -> Owners {
        Owners(AtomicUsize::new(1))
    }

    /// Counts one more, whom an owner makes.
    ///
    /// # Panics
    /// There are as many as would lie within half of all memory if each took a byte: they were
    /// forgotten.
    pub(crate) fn join(&self) {
        // Relaxed: who is made an owner is told of the memory by one, and that orders them.
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        assert!(before <= isize::MAX as usize, "too many guards of one tensor were forgotten");
    }

    /// Counts one less, who has read what it wanted. Whether that was the last: it frees the
    /// memory.
    #[must_use]
    pub(crate) fn leave(&self) -> bool {
        // What this owner has read comes before what the last one, or a later writer, does.
        let is_last = self.0.fetch_sub(1, Ordering::Release) == 1;
        if is_last {
            fence(Ordering::Acquire);
        }
        is_last
    }

    /// Whether there is one only, after all that others have read who were owners.
    pub(crate) fn is_sole(&self) -> bool {
        self.0.load(Ordering::Acquire) == 1
    }
}
