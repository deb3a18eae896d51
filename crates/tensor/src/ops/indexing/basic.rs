//! Indexing by integers, ranges, new dimensions and tensors.

use super::advanced::{ChosenIndex, mask_indices, select_at};
use crate::{DType, Error, Result, Tensor};

/// An index into one dimension, as it stands between brackets in Python
/// (`torch::indexing::TensorIndex`).
#[derive(Clone, Copy, Debug)]
pub enum TensorIndex<'a> {
    /// `i`: the part at this index, without the dimension.
    Integer(isize),
    /// `begin:end:step`.
    Slice {
        /// The first index, or the start.
        begin: Option<isize>,
        /// The index before which it ends, or the end.
        end: Option<isize>,
        /// The step, which is positive.
        step: usize,
    },
    /// `...`: all dimensions that no other index stands for.
    Ellipsis,
    /// `None`: a new dimension of size 1.
    NewAxis,
    /// A truth value: a new dimension, of size 1 if it is true and of size 0 if not.
    Truth(bool),
    /// A tensor of indices, or a mask of truth values, which stands for as many dimensions as it has.
    Tensor(&'a Tensor),
}

impl Tensor {
    /// The part that indices choose, one for each dimension from the outermost on. Without index
    /// tensors it is a view. Index tensors are broadcast with each other, and their dimensions take
    /// the place of the indexed ones, or come first where those are not side by side.
    ///
    /// ```
    /// use tensor::{TensorIndex, tensor};
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// let column = x.index(&[TensorIndex::Ellipsis, TensorIndex::Integer(-1)])?;
    /// assert_eq!(column.to_vec::<f32>()?, [3.0, 6.0]);
    /// let chosen = tensor![1, 1, 0]?;
    /// assert_eq!(x.index(&[TensorIndex::Tensor(&chosen)])?.shape(), [3, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are more indices than dimensions, one is out of range, a tensor of indices is not of an
    /// integer dtype, a mask has another shape than the dimensions that it stands for, or index
    /// tensors do not broadcast. A mask is read on the host, which waits for it.
    #[track_caller]
    pub fn index(&self, indices: &[TensorIndex<'_>]) -> Result<Tensor> {
        let (view, chosen) = self.basic_index(indices)?;
        if chosen.iter().all(Option::is_none) { Ok(view) } else { select_at(&view, &chosen) }
    }

    /// The view that the indices without tensors choose, and the index tensors by its dimensions.
    fn basic_index(
        &self,
        indices: &[TensorIndex<'_>],
    ) -> Result<(Tensor, Vec<Option<ChosenIndex>>)> {
        let taken: usize = indices.iter().map(consumed).sum();
        let refuse = |why| Error::InvalidArgument {
            op: "index",
            argument: "indices",
            value: format!("{} indices for a tensor of {} dimensions", indices.len(), self.dims()),
            why,
        };
        if taken > self.dims() {
            return Err(refuse("there are too many"));
        }
        if indices.iter().filter(|index| matches!(index, TensorIndex::Ellipsis)).count() > 1 {
            return Err(refuse("there may be only one ellipsis"));
        }
        let (mut view, mut dim) = (self.clone(), 0);
        let mut chosen: Vec<Option<ChosenIndex>> = Vec::new();
        for index in indices {
            match *index {
                TensorIndex::Integer(at) => view = view.select(dim as isize, at)?,
                TensorIndex::Slice { begin, end, step } => {
                    let (begin, end) = (begin.unwrap_or(0), end.unwrap_or(isize::MAX));
                    view = view.slice(dim as isize, begin, end, step)?;
                    dim += 1;
                }
                TensorIndex::Ellipsis => dim += self.dims() - taken,
                TensorIndex::NewAxis => {
                    view = view.unsqueeze(dim as isize)?;
                    dim += 1;
                }
                TensorIndex::Truth(truth) => {
                    view = view.unsqueeze(dim as isize)?;
                    chosen.resize(dim, None);
                    let places = vec![0i64; usize::from(truth)];
                    chosen.push(Some(ChosenIndex::of(Tensor::new(places, self.device())?)));
                    dim += 1;
                }
                TensorIndex::Tensor(tensor) => {
                    chosen.resize(dim, None);
                    if tensor.dims() == 0 && matches!(tensor.dtype(), DType::Bool | DType::U8) {
                        view = view.unsqueeze(dim as isize)?;
                    }
                    chosen.extend(indices_of(tensor, &view, dim)?.into_iter().map(Some));
                    dim = chosen.len();
                }
            }
        }
        Ok((view, chosen))
    }
}

/// The indices that a tensor is for the dimensions of `x` from `dim` on. One without dimensions that
/// is a truth value is for a dimension that was made for it.
fn indices_of(tensor: &Tensor, x: &Tensor, dim: usize) -> Result<Vec<ChosenIndex>> {
    match tensor.dtype() {
        DType::Bool | DType::U8 if tensor.dims() == 0 => {
            Ok(vec![ChosenIndex::of(truth_index(tensor)?)])
        }
        DType::Bool | DType::U8 => mask_indices(x, dim, tensor),
        dtype if dtype.is_integer() => Ok(vec![ChosenIndex::of(tensor.to(DType::I64)?)]),
        dtype => {
            let arguments = vec![("indices", dtype)];
            let rule = "indices are integers, and masks truth values";
            Err(Error::DTypeMismatch { op: "index", arguments, rule })
        }
    }
}

/// The number of dimensions that an index stands for.
fn consumed(index: &TensorIndex<'_>) -> usize {
    match index {
        TensorIndex::Integer(_) | TensorIndex::Slice { .. } => 1,
        TensorIndex::Ellipsis | TensorIndex::NewAxis | TensorIndex::Truth(_) => 0,
        TensorIndex::Tensor(tensor) => match tensor.dtype() {
            DType::Bool | DType::U8 => tensor.dims(),
            _ => 1,
        },
    }
}

/// The index of a mask without dimensions into the dimension that is made for it.
fn truth_index(mask: &Tensor) -> Result<Tensor> {
    Tensor::new(vec![0i64; usize::from(mask.item::<bool>()?)], mask.device())
}
