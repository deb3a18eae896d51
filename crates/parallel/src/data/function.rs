//! A dataset of a function.

use std::fmt;

use tensor::{Error, Result};

use super::Dataset;

/// A dataset whose samples a function computes: the result of [`from_fn`].
#[derive(Clone)]
pub struct FnDataset<F> {
    len: usize,
    f: F,
}

/// A dataset of `len` samples, of which `f` computes the one at an index: a [`Dataset`] without a
/// type of its own.
///
/// Workers call `f` from several threads. Errors of the program's own become the error of tensors by
/// [`Error::other`].
///
/// ```
/// use parallel::{DataLoader, from_fn};
/// use tensor::tensor;
/// let squares = from_fn(100, |index| {
///     let x = index as f32;
///     Ok((tensor![x, x * x]?, index as i64 % 2))
/// });
/// let loader = DataLoader::builder(squares).batch_size(32).workers(2).build()?;
/// let (x, is_odd) = loader.iter().next().expect("a batch")?;
/// assert_eq!((x.shape(), is_odd.shape()), (&[32, 2][..], &[32][..]));
/// assert_eq!(x.select(0, 3)?.to_vec::<f32>()?, [3.0, 9.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_fn<T, F>(len: usize, f: F) -> FnDataset<F>
where
    F: Fn(usize) -> Result<T> + Send + Sync,
{
    FnDataset { len, f }
}

impl<T, F> Dataset for FnDataset<F>
where
    F: Fn(usize) -> Result<T> + Send + Sync,
{
    type Sample = T;
    type Error = Error;

    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, index: usize) -> Result<T> {
        (self.f)(index)
    }
}

impl<F> fmt::Debug for FnDataset<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnDataset").field("len", &self.len).finish_non_exhaustive()
    }
}
