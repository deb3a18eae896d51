//! A dataset with a function applied to each sample.

use super::Dataset;

/// A dataset with a function applied to each sample: the result of [`Dataset::map`].
#[derive(Clone, Debug)]
pub struct MapDataset<D, F> {
    dataset: D,
    f: F,
}

impl<D, F> MapDataset<D, F> {
    pub(super) fn new(dataset: D, f: F) -> Self {
        MapDataset { dataset, f }
    }
}

impl<D, F, T> Dataset for MapDataset<D, F>
where
    D: Dataset,
    F: Fn(D::Sample) -> Result<T, D::Error> + Send + Sync,
{
    type Sample = T;
    type Error = D::Error;

    fn len(&self) -> usize {
        self.dataset.len()
    }

    fn get(&self, index: usize) -> Result<T, D::Error> {
        (self.f)(self.dataset.get(index)?)
    }
}
