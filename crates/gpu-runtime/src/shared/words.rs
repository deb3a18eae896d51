//! A few numbers that change together.

use super::sync::{AtomicBool, AtomicU64, Ordering, pause};

/// Numbers behind a lock for who waits for nobody while holding it. To take that is one atomic
/// operation, and to give it back a plain store, which is half of what a [`Mutex`] costs; in return
/// nobody is woken, and who finds it taken looks again and again.
///
/// [`Mutex`]: parking_lot::Mutex
pub(crate) struct Words<const N: usize> {
    taken: AtomicBool,
    /// Read and written by whom the lock is held.
    words: [AtomicU64; N],
}

/// The lock, until it is dropped.
pub(crate) struct HeldWords<'a, const N: usize>(&'a Words<N>);

impl<const N: usize> Words<N> {
    /// All zero.
    pub(crate) fn new() -> Words<N> {
        Words { taken: AtomicBool::new(false), words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    #[inline]
    pub(crate) fn lock(&self) -> HeldWords<'_, N> {
        let mut looks = 0;
        loop {
            match self.try_lock() {
                Some(held) => return held,
                None => pause(looks),
            }
            looks += 1;
        }
    }

    /// The lock, unless somebody has it.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<HeldWords<'_, N>> {
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        let taken = self.taken.compare_exchange(false, true, acquire, relaxed);
        taken.is_ok().then(|| HeldWords(self))
    }
}

impl<const N: usize> HeldWords<'_, N> {
    #[inline]
    pub(crate) fn get(&self) -> [u64; N] {
        std::array::from_fn(|index| self.0.words[index].load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn set(&mut self, words: [u64; N]) {
        for (word, value) in self.0.words.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
    }
}

impl<const N: usize> Drop for HeldWords<'_, N> {
    #[inline]
    fn drop(&mut self) {
        self.0.taken.store(false, Ordering::Release);
    }
}
