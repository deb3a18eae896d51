//! Several datasets as one.

use tensor::Error;

use super::{Dataset, PutError};
use crate::Collate;

/// Several datasets one behind the other (`torch.utils.data.ConcatDataset`). Datasets of different
/// types can be joined as `Arc<dyn Dataset<Sample = .., Error = ..>>`.
///
/// ```
/// use parallel::{ConcatDataset, Dataset, TensorDataset};
/// use tensor::Tensor;
///
/// let numbers = |range| TensorDataset::new(Tensor::arange(range, ())?);
/// let data = ConcatDataset::new(vec![numbers(0..3)?, numbers(10..12)?])?;
/// assert_eq!(data.len(), 5);
/// assert_eq!(data.get(3)?.item::<i64>()?, 10);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConcatDataset<D> {
    datasets: Vec<D>,
    /// The numbers of samples of the datasets up to and with each.
    ends: Vec<usize>,
}

impl<D: Dataset> ConcatDataset<D> {
    /// The datasets, in this order. Their lengths are asked for once.
    ///
    /// # Errors
    /// There is none, or they have more samples than can be numbered.
    pub fn new(datasets: Vec<D>) -> tensor::Result<ConcatDataset<D>> {
        let refuse = |value: String, why| {
            Err(Error::InvalidArgument { op: "ConcatDataset", argument: "datasets", value, why })
        };
        if datasets.is_empty() {
            return refuse("[]".to_owned(), "there must be at least one");
        }
        let mut ends = Vec::with_capacity(datasets.len());
        let mut end = 0usize;
        for dataset in &datasets {
            let Some(next) = end.checked_add(dataset.len()) else {
                return refuse(format!("{end} samples and more"), "they cannot be numbered");
            };
            end = next;
            ends.push(end);
        }
        Ok(ConcatDataset { datasets, ends })
    }

    /// The datasets.
    pub fn datasets(&self) -> &[D] {
        &self.datasets
    }

    /// The dataset with the sample at an index, and the sample's own index there.
    fn part_with(&self, index: usize) -> (&D, usize) {
        // An index beyond the end is one beyond the last dataset, whose error names it.
        let part = self.ends.partition_point(|&end| end <= index).min(self.datasets.len() - 1);
        let before = part.checked_sub(1).map_or(0, |before| self.ends[before]);
        (&self.datasets[part], index - before)
    }
}

impl<D: Dataset> Dataset for ConcatDataset<D> {
    type Sample = D::Sample;
    type Error = D::Error;

    fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn get(&self, index: usize) -> Result<D::Sample, D::Error> {
        let (dataset, index) = self.part_with(index);
        dataset.get(index)
    }

    fn get_into(
        &self,
        index: usize,
        batch: &mut <D::Sample as Collate>::Slot,
    ) -> Result<(), PutError<D::Error>>
    where
        D::Sample: Collate,
    {
        let (dataset, index) = self.part_with(index);
        dataset.get_into(index, batch)
    }
}

#[cfg(test)]
mod tests {
    use tensor::Tensor;

    use super::*;
    use crate::TensorDataset;

    #[test]
    fn each_index_is_that_of_its_own_dataset_and_one_beyond_is_an_error() {
        let numbers = |range: std::ops::Range<i64>| {
            TensorDataset::new(Tensor::arange(range, ()).expect("numbers")).expect("samples")
        };
        let parts = vec![numbers(0..2), numbers(5..5), numbers(7..10)];
        let all = ConcatDataset::new(parts).expect("three datasets");
        let read = |index| all.get(index).and_then(|sample| sample.item::<i64>());
        let seen: Vec<i64> = (0..5).map(|index| read(index).expect("a sample")).collect();
        assert_eq!(seen, [0, 1, 7, 8, 9]);
        assert!(read(5).is_err() && read(usize::MAX).is_err());
        assert!(ConcatDataset::<TensorDataset<Tensor>>::new(Vec::new()).is_err());
    }
}
