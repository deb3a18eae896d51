//! Indexing by integers, ranges and new dimensions: views.

use super::indices::TensorIndex;
use super::places::IndexTensor;
use crate::dispatch;
use crate::{DType, Error, Result, Tensor};

/// The part of a tensor that indices choose.
pub(super) struct Selection {
    /// The view that the indices without tensors choose.
    pub(super) view: Tensor,
    /// The index tensors into it.
    pub(super) chosen: Vec<IndexTensor>,
}

impl Selection {
    /// # Errors
    /// There are too many indices, one is out of range, or a tensor is none of indices.
    #[track_caller]
    pub(super) fn new(op: &'static str, x: &Tensor, indices: &[TensorIndex]) -> Result<Selection> {
        let taken: usize = indices.iter().map(consumed).sum();
        let refuse = |why| Error::InvalidArgument {
            op,
            argument: "indices",
            value: format!("{} indices for a tensor of {} dimensions", indices.len(), x.dims()),
            why,
        };
        if taken > x.dims() {
            return Err(refuse("there are too many"));
        }
        if indices.iter().filter(|index| matches!(index, TensorIndex::Ellipsis)).count() > 1 {
            return Err(refuse("there may be only one ellipsis"));
        }
        let mut selection = Selection { view: x.clone(), chosen: Vec::new() };
        let mut dim = 0;
        for index in indices {
            dim = match index {
                TensorIndex::Ellipsis => dim + x.dims() - taken,
                index => selection.narrow(op, dim, index)?,
            };
        }
        Ok(selection)
    }

    /// Applies an index to a dimension of the view, and gives the next dimension.
    #[track_caller]
    fn narrow(&mut self, op: &'static str, dim: usize, index: &TensorIndex) -> Result<usize> {
        let (view, own) = (&self.view, dim as isize);
        match index {
            TensorIndex::Ellipsis => return Ok(dim),
            TensorIndex::Integer(at) => {
                self.view = view.select(own, *at)?;
                return Ok(dim);
            }
            TensorIndex::Slice { begin, end, step } => {
                let (begin, end) = (begin.unwrap_or(0), end.unwrap_or(isize::MAX));
                self.view = view.slice(own, begin, end, *step)?;
            }
            TensorIndex::NewAxis => self.view = view.unsqueeze(own)?,
            TensorIndex::Truth(truth) => {
                self.view = view.unsqueeze(own)?;
                let places = vec![0i64; usize::from(*truth)];
                return self.choose(dim, Tensor::new(places, self.view.device())?);
            }
            TensorIndex::List(list) => {
                let list = Tensor::from_vec(list.clone(), [list.len()], view.device())?;
                return self.choose(dim, list);
            }
            TensorIndex::Tensor(tensor) => return self.narrow_by(op, dim, tensor),
        }
        Ok(dim + 1)
    }

    /// Applies a tensor to the dimensions of the view that it stands for.
    #[track_caller]
    fn narrow_by(&mut self, op: &'static str, dim: usize, tensor: &Tensor) -> Result<usize> {
        // As in PyTorch, indices may lie on the host.
        if tensor.is_cuda() {
            dispatch::same_device(op, &[("self", &self.view), ("indices", tensor)])?;
        }
        let tensor = &tensor.detach();
        match (is_mask(tensor), tensor.dims()) {
            (true, 0) => self.narrow(op, dim, &TensorIndex::Truth(tensor.item()?)),
            (false, 0) if is_positions(tensor) => {
                self.narrow(op, dim, &TensorIndex::Integer(tensor.item::<i64>()? as isize))
            }
            (true, dims) => {
                if self.view.shape().get(dim..dim + dims) != Some(tensor.shape()) {
                    let shape = |x: &Tensor| x.layout().shape().clone();
                    let shapes = vec![("self", shape(&self.view)), ("mask", shape(tensor))];
                    let rule = "a mask must have the sizes of the dimensions that it stands for";
                    return Err(Error::ShapeMismatch { op, shapes, rule });
                }
                self.choose(dim, tensor.to(DType::Bool)?)
            }
            (false, _) if is_positions(tensor) => {
                self.choose(dim, tensor.to(DType::I64)?.to(self.view.device())?)
            }
            (false, _) => {
                let arguments = vec![("indices", tensor.dtype())];
                let rule = "indices are of dtype int64 or int32, and masks bool or uint8";
                Err(Error::DTypeMismatch { op, arguments, rule })
            }
        }
    }

    /// Chooses along a dimension of the view, or as many as a mask has, and gives the next one.
    fn choose(&mut self, dim: usize, tensor: Tensor) -> Result<usize> {
        let index = IndexTensor { dim, tensor };
        let next = if index.is_mask() { dim + index.tensor.dims() } else { dim + 1 };
        self.chosen.push(index);
        Ok(next)
    }
}

fn is_mask(tensor: &Tensor) -> bool {
    matches!(tensor.dtype(), DType::Bool | DType::U8)
}

fn is_positions(tensor: &Tensor) -> bool {
    matches!(tensor.dtype(), DType::I64 | DType::I32)
}

/// The number of dimensions that an index stands for.
fn consumed(index: &TensorIndex) -> usize {
    match index {
        TensorIndex::Integer(_) | TensorIndex::Slice { .. } | TensorIndex::List(_) => 1,
        TensorIndex::Ellipsis | TensorIndex::NewAxis | TensorIndex::Truth(_) => 0,
        TensorIndex::Tensor(tensor) if is_mask(tensor) => tensor.dims(),
        TensorIndex::Tensor(_) => 1,
    }
}
