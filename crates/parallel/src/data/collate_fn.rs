//! A dataset with a function that joins its samples.

use std::fmt;

/// A dataset with a function that joins its samples to a batch: the result of
/// [`Dataset::collate_with`](crate::Dataset::collate_with) and
/// [`IterableDataset::collate_with`](crate::IterableDataset::collate_with).
#[derive(Clone)]
pub struct CollateFn<D, F> {
    pub(crate) dataset: D,
    pub(crate) collate: F,
}

impl<D: fmt::Debug, F> fmt::Debug for CollateFn<D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollateFn").field("dataset", &self.dataset).finish_non_exhaustive()
    }
}
