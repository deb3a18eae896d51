//! Tensors as a dataset: the rows along the first dimension are the samples.

use tensor::{Error, Result, Tensor};

use super::Dataset;

/// A dataset whose samples are the rows of a tensor, or of a tuple of tensors with equally many
/// rows (`torch.utils.data.TensorDataset`). The rows are views, which share the tensors' memory.
///
/// ```
/// use parallel::{Dataset, TensorDataset};
/// use tensor::tensor;
/// let data = TensorDataset::new((tensor![[1.0, 2.0], [3.0, 4.0]]?, tensor![0, 1]?))?;
/// let (x, y) = data.get(1)?;
/// assert_eq!((x.to_vec::<f32>()?, y.item::<i64>()?), (vec![3.0, 4.0], 1));
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TensorDataset<T> {
    tensors: T,
    rows: usize,
}

/// A tensor or a tuple of tensors, whose rows are samples.
pub trait TensorSample: Sized {
    /// The number of rows of each tensor; `None` for a 0-dimensional one.
    fn rows(&self) -> Vec<Option<usize>>;

    /// The row at `index` of each.
    ///
    /// # Errors
    /// There is no such row.
    fn row(&self, index: usize) -> Result<Self>;
}

impl<T: TensorSample> TensorDataset<T> {
    /// A dataset of the tensors' rows.
    ///
    /// # Errors
    /// A tensor has no dimension, or the numbers of rows differ.
    pub fn new(tensors: T) -> Result<Self> {
        let counts = tensors.rows();
        match counts.first().copied().flatten() {
            Some(rows) if counts.iter().all(|&count| count == Some(rows)) => {
                Ok(TensorDataset { tensors, rows })
            }
            _ => Err(Error::InvalidArgument {
                op: "TensorDataset",
                argument: "tensors",
                value: match counts.into_iter().collect::<Option<Vec<usize>>>() {
                    Some(rows) => format!("{rows:?} rows"),
                    None => "one without dimensions".to_owned(),
                },
                why: "all must have the same number of rows",
            }),
        }
    }
}

impl<T: TensorSample + Send + Sync> Dataset for TensorDataset<T> {
    type Sample = T;
    type Error = Error;

    fn len(&self) -> usize {
        self.rows
    }

    fn get(&self, index: usize) -> Result<T> {
        self.tensors.row(index)
    }
}

impl TensorSample for Tensor {
    fn rows(&self) -> Vec<Option<usize>> {
        vec![self.shape().first().copied()]
    }

    fn row(&self, index: usize) -> Result<Tensor> {
        // Negative indices would count from the end.
        self.select(0, isize::try_from(index).unwrap_or(isize::MAX))
    }
}

macro_rules! for_tuples {
    ($(($($part:ident $index:tt),+))+) => {$(
        impl<$($part: TensorSample),+> TensorSample for ($($part,)+) {
            fn rows(&self) -> Vec<Option<usize>> {
                [$(self.$index.rows()),+].concat()
            }

            fn row(&self, index: usize) -> Result<Self> {
                Ok(($(self.$index.row(index)?,)+))
            }
        }
    )+};
}
for_tuples! { (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) }
