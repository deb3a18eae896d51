//! SampleList that wait until their batch is complete.

use std::fmt;

use gpu_runtime::panics::discard;

/// The samples of a batch, collected until all of them are there: the
/// [`Slot`](crate::Collate::Slot) of samples that cannot be joined one by one.
pub struct SampleList<T>(Vec<T>);

impl<T> SampleList<T> {
    /// No samples.
    pub fn new() -> SampleList<T> {
        SampleList(Vec::new())
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

impl<T> Default for SampleList<T> {
    fn default() -> SampleList<T> {
        SampleList::new()
    }
}

impl<T> Drop for SampleList<T> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl<T> fmt::Debug for SampleList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SampleList({})", self.0.len())
    }
}
