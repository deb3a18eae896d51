//! Parts of a dataset.

use std::ops::Range;
use std::sync::Arc;

use tensor::Error;

use super::random::{SampleRandom, permutation};
use super::{Dataset, PutError};
use crate::Collate;

/// Some samples of a dataset, in an order of their own (`torch.utils.data.Subset`).
#[derive(Debug)]
pub struct Subset<D> {
    dataset: Arc<D>,
    /// The order of the samples of all parts, of which `part` is this one's.
    order: Arc<Vec<usize>>,
    part: Range<usize>,
}

impl<D> Subset<D> {
    /// The samples with these indices, in this order. One that the dataset has not is an error of
    /// the dataset when it is read.
    pub fn new(dataset: D, indices: Vec<usize>) -> Subset<D> {
        let part = 0..indices.len();
        Subset { dataset: Arc::new(dataset), order: Arc::new(indices), part }
    }

    /// The indices of the samples in the whole dataset.
    pub fn indices(&self) -> &[usize] {
        &self.order[self.part.clone()]
    }
}

impl<D: Dataset> Subset<D> {
    /// The index of a sample in the whole dataset. One beyond the part becomes one beyond the whole
    /// dataset, whose error names it.
    fn index_in_whole(&self, index: usize) -> usize {
        self.indices().get(index).copied().unwrap_or(self.dataset.len())
    }
}

impl<D: Dataset> Dataset for Subset<D> {
    type Sample = D::Sample;
    type Error = D::Error;

    fn len(&self) -> usize {
        self.part.len()
    }

    fn get(&self, index: usize) -> Result<D::Sample, D::Error> {
        self.dataset.get(self.index_in_whole(index))
    }

    fn get_into(
        &self,
        index: usize,
        batch: &mut <D::Sample as Collate>::Slot,
    ) -> Result<(), PutError<D::Error>>
    where
        D::Sample: Collate,
    {
        self.dataset.get_into(self.index_in_whole(index), batch)
    }
}

/// Splits a dataset into disjoint parts of the given lengths, by a permutation that follows from
/// `seed`.
///
/// # Errors
/// The lengths do not add up to the dataset's, or the host has no memory for the permutation: 8
/// bytes per sample.
///
/// ```
/// use parallel::{Dataset, TensorDataset, random_split};
/// use tensor::Tensor;
/// let data = TensorDataset::new(Tensor::ones([10, 2], ())?)?;
/// let [train, test] = random_split(data, [8, 2], 0)?;
/// assert_eq!((train.len(), test.len()), (8, 2));
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn random_split<D: Dataset, const N: usize>(
    dataset: D,
    lengths: [usize; N],
    seed: u64,
) -> tensor::Result<[Subset<D>; N]> {
    let total = lengths.iter().try_fold(0usize, |sum, &length| sum.checked_add(length));
    if total != Some(dataset.len()) {
        return Err(Error::InvalidArgument {
            op: "random_split",
            argument: "lengths",
            value: format!("{lengths:?} for {} samples", dataset.len()),
            why: "the lengths must add up to the number of samples",
        });
    }
    let order = Arc::new(permutation(dataset.len(), &mut SampleRandom::of_epoch(seed, 0))?);
    let dataset = Arc::new(dataset);
    let mut end = 0;
    Ok(lengths.map(|length| {
        let start = end;
        end += length;
        Subset { dataset: Arc::clone(&dataset), order: Arc::clone(&order), part: start..end }
    }))
}

#[cfg(test)]
mod tests {
    use tensor::Tensor;

    use super::*;
    use crate::TensorDataset;

    #[test]
    fn an_index_beyond_a_part_is_an_error() {
        let numbers = Tensor::arange(5, ()).expect("five numbers");
        let dataset = TensorDataset::new(numbers).expect("five samples");
        let [two, rest] = random_split(dataset, [2, 3], 7).expect("two parts");
        assert!(two.get(1).is_ok() && rest.get(2).is_ok());
        for index in [2, 5, isize::MAX as usize + 1, usize::MAX] {
            assert!(two.get(index).is_err(), "{index}");
        }
    }

    #[test]
    fn an_index_beyond_all_numbers_with_a_sign_does_not_count_from_the_end() {
        let numbers = Tensor::arange(5, ()).expect("five numbers");
        let dataset = TensorDataset::new(numbers).expect("five samples");
        for index in [5, isize::MAX as usize + 1, usize::MAX] {
            assert!(dataset.get(index).is_err(), "{index}");
        }
    }
}
