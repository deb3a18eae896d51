//! Caches of what operations were specialized to.

use std::sync::OnceLock;

/// Values by key. Each is made once, at its first use, and stays as long as the cache, which for
/// operations is as long as the process. Finding one takes a few comparisons, and no lock.
pub(crate) struct Specializations<T: 'static> {
    chains: [OnceLock<Box<SpecializationEntry<T>>>; CHAINS],
}

/// The number of chains. Most operations are used with a handful of dtypes.
const CHAINS: usize = 8;

struct SpecializationEntry<T> {
    key: u64,
    value: T,
    next: OnceLock<Box<SpecializationEntry<T>>>,
}

impl<T> Specializations<T> {
    pub(crate) const fn new() -> Specializations<T> {
        Specializations { chains: [const { OnceLock::new() }; CHAINS] }
    }

    /// The value for `key`, made by `make` if it is not there yet. `make` must not come back to
    /// this cache.
    pub(crate) fn get(&self, key: u64, mut make: impl FnMut() -> T) -> &T {
        let mut slot = self.chain(key);
        loop {
            let entry = slot.get_or_init(|| {
                Box::new(SpecializationEntry { key, value: make(), next: OnceLock::new() })
            });
            if entry.key == key {
                return &entry.value;
            }
            slot = &entry.next;
        }
    }

    /// [`Specializations::get`] where making a value can fail; then nothing is kept.
    pub(crate) fn try_get<E>(
        &self,
        key: u64,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<&T, E> {
        let mut slot = self.chain(key);
        while let Some(entry) = slot.get() {
            if entry.key == key {
                return Ok(&entry.value);
            }
            slot = &entry.next;
        }
        let mut made = Some(make()?);
        Ok(self.get(key, || made.take().expect("an entry is made once")))
    }

    fn chain(&self, key: u64) -> &OnceLock<Box<SpecializationEntry<T>>> {
        &self.chains[(key ^ (key >> 8) ^ (key >> 20)) as usize % CHAINS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_made_once() {
        let cache = Specializations::new();
        let mut made = 0;
        for round in 0..2 {
            for key in 0..100 {
                let value = *cache.get(key, || {
                    made += 1;
                    key * 10
                });
                assert_eq!(value, key * 10, "round {round}");
            }
        }
        assert_eq!(made, 100);
    }
}
