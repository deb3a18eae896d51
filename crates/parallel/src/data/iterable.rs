//! Datasets that are read from the beginning to the end.

use std::error::Error;

use super::CollateFn;

/// A dataset whose samples come one after the other, from a file or over a network
/// (`torch.utils.data.IterableDataset`). [`DataLoader::from_iterable`](crate::DataLoader::from_iterable)
/// makes a loader of one.
///
/// Reading is in two steps. Items are read from one iterator, by one worker at a time, so that none
/// is lost or comes twice whatever the number of workers; and workers make samples of their items at
/// the same time, with random numbers that follow from the seed, the epoch and the item's position.
///
/// ```
/// use std::io::{BufRead, BufReader, Error, Lines};
///
/// use parallel::{DataLoader, IterableDataset};
///
/// /// The numbers of a text, of which each line has one.
/// struct Numbers(&'static str);
///
/// impl IterableDataset for Numbers {
///     type Item = String;
///     type Sample = f64;
///     type Error = Error;
///     type Iter = Lines<BufReader<&'static [u8]>>;
///
///     fn iter(&self, _epoch: u64) -> Result<Self::Iter, Error> {
///         Ok(BufReader::new(self.0.as_bytes()).lines())
///     }
///
///     fn sample(&self, line: String) -> Result<f64, Error> {
///         line.trim().parse().map_err(Error::other)
///     }
/// }
///
/// let loader = DataLoader::from_iterable(Numbers("1\n2\n3\n4\n5")).batch_size(2).workers(2).build()?;
/// let sums = loader.iter().map(|batch| batch?.sum(())?.item::<f64>());
/// assert_eq!(sums.collect::<tensor::Result<Vec<_>>>()?, [3.0, 7.0, 5.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait IterableDataset: Send + Sync {
    /// The type of what is read.
    type Item: Send;
    /// The type of a sample, which is made of an item.
    type Sample;
    /// The error of what cannot be read.
    type Error: Error + Send + Sync + 'static;
    /// The iterator over the items of an epoch. A loader that is put back in the middle of an epoch
    /// begins with [`nth`](Iterator::nth).
    type Iter: Iterator<Item = Result<Self::Item, Self::Error>> + Send;

    /// Begins to read an epoch.
    ///
    /// # Errors
    /// It cannot be read.
    fn iter(&self, epoch: u64) -> Result<Self::Iter, Self::Error>;

    /// Makes a sample of an item.
    ///
    /// # Errors
    /// The item is none of the kind that was expected.
    fn sample(&self, item: Self::Item) -> Result<Self::Sample, Self::Error>;

    /// The dataset with a function that joins its samples to a batch, for
    /// [`DataLoader::builder`](crate::DataLoader::builder): see
    /// [`Dataset::collate_with`](crate::Dataset::collate_with).
    ///
    /// ```
    /// use std::convert::Infallible;
    ///
    /// use parallel::{DataLoader, IterableDataset};
    ///
    /// /// The words of a text.
    /// struct Words(&'static str);
    ///
    /// impl IterableDataset for Words {
    ///     type Item = &'static str;
    ///     type Sample = &'static str;
    ///     type Error = Infallible;
    ///     type Iter = std::vec::IntoIter<Result<&'static str, Infallible>>;
    ///
    ///     fn iter(&self, _epoch: u64) -> Result<Self::Iter, Infallible> {
    ///         Ok(self.0.split(' ').map(Ok).collect::<Vec<_>>().into_iter())
    ///     }
    ///
    ///     fn sample(&self, word: &'static str) -> Result<&'static str, Infallible> {
    ///         Ok(word)
    ///     }
    /// }
    ///
    /// let words = Words("a loader joins these").collate_with(|words| Ok(words.join("+")));
    /// let loader = DataLoader::builder(words).batch_size(2).build()?;
    /// let joined = loader.iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(joined, ["a+loader", "joins+these"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "collate_fn")]
    fn collate_with<B, F>(self, f: F) -> CollateFn<Iterable<Self>, F>
    where
        Self: Sized,
        F: Fn(Vec<Self::Sample>) -> tensor::Result<B> + Send + Sync,
    {
        CollateFn { dataset: Iterable(self), collate: f }
    }
}

/// An [`IterableDataset`] as a loader reads it.
#[derive(Clone, Copy, Debug)]
pub struct Iterable<I>(pub(crate) I);
