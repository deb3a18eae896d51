//! What stands between the brackets: one index, or a tuple of them.

use smallvec::SmallVec;

use crate::Tensor;

/// An index into one dimension, as it stands between brackets in Python
/// (`torch::indexing::TensorIndex`). It is made from integers, ranges, truth values, tensors, and
/// lists of integers: [`Tensor::i`] has a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TensorIndex {
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
    /// A list of integers: a tensor of indices, of one dimension.
    List(Vec<i64>),
    /// A tensor of indices, or a mask of truth values, which stands for as many dimensions as it has.
    Tensor(Tensor),
}

/// Indices, one for each dimension from the outermost on. They are made from a single index, from a
/// tuple of up to eight, and from a slice or vector of [`TensorIndex`].
#[derive(Clone, Debug)]
pub struct TensorIndices(pub(super) SmallVec<[TensorIndex; 4]>);
