//! Values that one owner lends to many threads, each under a lock of its own.

use super::sync::{AtomicU32, AtomicU64, LOOKS, Lock, Ordering, spin_loop, yield_now};

/// Places for values that their owner has lent. Whoever uses one takes the lock of its place only;
/// the owner, who is one thread at a time, takes back what it needs in one chunk.
#[derive(Debug)]
pub(super) struct CheckedOut<T> {
    /// The name of what is lent at each place, plus one; 0 where nothing is.
    names: Vec<AtomicU64>,
    /// The number of places that have a name, at most.
    named: AtomicU32,
    /// A bit for each place where something is. Only the owner looks.
    lent: AtomicU32,
    places: Vec<Padded<T>>,
}

/// Two places are never in one line of the cache, nor in two that are fetched together.
#[derive(Debug)]
#[repr(align(128))]
struct Padded<T>(Lock<Option<T>>);

impl<T> CheckedOut<T> {
    /// Makes room for what is lent at up to 32 places.
    pub(super) fn new(places: usize) -> Self {
        CheckedOut {
            names: (0..places).map(|_| AtomicU64::new(0)).collect(),
            named: AtomicU32::new(0),
            lent: AtomicU32::new(0),
            places: (0..places).map(|_| Padded(Lock::new(None))).collect(),
        }
    }

    /// The place of what is lent under a name, unless it never was. There may be something else by
    /// the time that somebody looks.
    #[inline]
    pub(super) fn place_of(&self, name: u64) -> Option<usize> {
        let named = self.named.load(Ordering::Relaxed) as usize;
        let mut names = self.names.get(..named)?.iter();
        names.position(|known| known.load(Ordering::Relaxed) == name + 1)
    }

    /// Uses what is lent at a place; nothing happens if nothing is there, or others are at it.
    #[inline(always)]
    pub(super) fn with<R>(&self, place: usize, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let Padded(lock) = self.places.get(place)?;
        for _ in 0..LOOKS {
            if let Some(mut value) = lock.try_lock() {
                return value.as_mut().map(work);
            }
            spin_loop();
        }
        None
    }

    /// Uses what is lent at a place, after whoever is at it; nothing happens if nothing is there. To be
    /// called by the owner, who knows by the answer whether the value is at home.
    pub(super) fn look<R>(&self, place: usize, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.change(place, |value| value.as_mut().map(work))
    }

    /// Lends a value under a name. To be called by the owner.
    pub(super) fn lend(&self, place: usize, name: u64, value: T) {
        self.change(place, |place| *place = Some(value));
        self.names[place].store(name + 1, Ordering::Relaxed);
        let named = self.named.load(Ordering::Relaxed).max(place as u32 + 1);
        self.named.store(named, Ordering::Relaxed);
        self.lent.store(self.lent.load(Ordering::Relaxed) | 1 << place, Ordering::Relaxed);
    }

    /// Whether nothing is lent. To be asked by the owner.
    pub(super) fn is_empty(&self) -> bool {
        self.lent.load(Ordering::Relaxed) == 0
    }

    /// Takes back everything that is lent, after whoever is at it. To be called by the owner.
    pub(super) fn take_back(&self, mut each: impl FnMut(T)) {
        let mut lent = self.lent.load(Ordering::Relaxed);
        self.lent.store(0, Ordering::Relaxed);
        while lent != 0 {
            let place = lent.trailing_zeros() as usize;
            self.change(place, Option::take).into_iter().for_each(&mut each);
            lent &= lent - 1;
        }
    }

    fn change<R>(&self, place: usize, change: impl FnOnce(&mut Option<T>) -> R) -> R {
        loop {
            if let Some(mut place) = self.places[place].0.try_lock() {
                return change(&mut place);
            }
            yield_now();
        }
    }
}
