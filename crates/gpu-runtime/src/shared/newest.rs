//! The newest of what a counter counts, noted without a lock.

use std::array;

use super::sync::{AtomicU64, Ordering};

/// The number of bits of a note.
pub(crate) const NOTE_BITS: u32 = 48;

/// A note for each of the newest `N` numbers that a counter gave out. To make one costs a store.
///
/// An entry has the note, and above it of which round of the counter it is, so that what is read
/// belongs together. Whoever is held up between taking a number and noting something for it, while
/// others take `N` more, makes the note of one of those unreadable, and no other harm.
pub(crate) struct Newest<const N: usize> {
    entries: [AtomicU64; N],
}

impl<const N: usize> Newest<N> {
    pub(crate) fn new() -> Newest<N> {
        Newest { entries: array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// Notes something for a number that nobody else has; 0 if there is nothing to say, for a number
    /// that is left out might find the note of many rounds before.
    #[inline]
    pub(crate) fn note(&self, number: u64, note: u64) {
        debug_assert!(note >> NOTE_BITS == 0, "{note:#x} is no note");
        self.entry(number).store(round::<N>(number) << NOTE_BITS | note, Ordering::Release);
    }

    /// The note of a number, if that is not too long ago.
    pub(crate) fn get(&self, number: u64) -> Option<u64> {
        let entry = self.entry(number).load(Ordering::Acquire);
        let note = entry & mask(NOTE_BITS);
        (entry >> NOTE_BITS == round::<N>(number) && note != 0).then_some(note)
    }

    fn entry(&self, number: u64) -> &AtomicU64 {
        &self.entries[(number % N as u64) as usize]
    }
}

/// In which round of `N` a number is given out, as far as an entry has room for it.
fn round<const N: usize>(number: u64) -> u64 {
    (number / N as u64) & mask(u64::BITS - NOTE_BITS)
}

const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}
