//! Samples that wait until their batch is complete.

use std::fmt;

use gpu_runtime::panics::discard;

/// The samples of a batch, collected until all of them are there: the
/// [`Slot`](crate::Collate::Slot) of samples that cannot be joined one by one.
pub struct Samples<T>(Vec<T>);

impl<T> Samples<T> {
    /// No samples.
    pub fn new() -> Samples<T> {
        Samples(Vec::new())
    }

    /// Drops what is there, and makes room for so many samples.
    pub fn begin(&mut self, samples: usize) {
        self.clear();
        // Where there is no room, `push` asks for it again.
        let _room = self.0.try_reserve(samples);
    }

    /// Adds a sample.
    pub fn push(&mut self, sample: T) {
        self.0.push(sample);
    }

    /// Takes all samples, in their order.
    pub fn take(&mut self) -> Vec<T> {
        std::mem::take(&mut self.0)
    }

    /// Drops the samples one by one, since a second panic while the first unwinds would abort the
    /// process.
    fn clear(&mut self) {
        self.0.drain(..).for_each(discard);
    }
}

impl<T> Default for Samples<T> {
    fn default() -> Samples<T> {
        Samples::new()
    }
}

impl<T> Drop for Samples<T> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl<T> fmt::Debug for Samples<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Samples({})", self.0.len())
    }
}
