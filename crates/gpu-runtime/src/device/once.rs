//! A cell that is initialised once, by a function that may fail.

use std::sync::OnceLock;

use parking_lot::Mutex;

/// A `OnceLock` whose initialisation may fail, and is tried again by the next caller if it did. (The
/// standard library has `get_or_try_init` only in unstable Rust.)
pub(crate) struct TryOnce<T> {
    cell: OnceLock<T>,
    initialising: Mutex<()>,
}

impl<T> TryOnce<T> {
    pub(crate) const fn new() -> TryOnce<T> {
        TryOnce { cell: OnceLock::new(), initialising: Mutex::new(()) }
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        self.cell.get()
    }

    #[inline]
    pub(crate) fn get_or_try_init<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        match self.cell.get() {
            Some(value) => Ok(value),
            None => self.initialise(make),
        }
    }

    #[cold]
    fn initialise<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let _initialising = self.initialising.lock();
        if let Some(value) = self.cell.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.cell.get_or_init(|| value))
    }
}

impl<T> Default for TryOnce<T> {
    fn default() -> TryOnce<T> {
        TryOnce::new()
    }
}

#[cfg(test)]
mod tests {
    use super::TryOnce;

    #[test]
    fn a_failed_initialisation_is_tried_again_and_a_successful_one_stays() {
        let cell = TryOnce::new();
        assert_eq!(cell.get_or_try_init(|| Err("no")), Err("no"));
        assert!(cell.get().is_none());
        assert_eq!(cell.get_or_try_init(|| Ok::<_, &str>(1)), Ok(&1));
        assert_eq!(cell.get_or_try_init(|| Ok::<_, &str>(2)), Ok(&1));
    }
}
