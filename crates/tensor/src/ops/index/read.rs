//! Elements and slices that indices choose: copies of them.

use super::call::{IndexedCall, check_elements, check_slices, cut, selected_shape};
use crate::autograd::record;
use crate::dims::resolve_dim;
use crate::dispatch::Operator;
use crate::dispatch::abi::Index;
use crate::host::index as kernels;
use crate::ops::convert::dense;
use crate::{Result, Tensor};

static GATHER: Operator<Index> = Operator::per_element("gather", kernels::GATHER);
static INDEX_SELECT: Operator<Index> = Operator::per_slice("index_select", kernels::INDEX_SELECT);

/// Indexing. Indices are of dtype `I64` or `I32` and lie on the tensor's device. An index out of
/// range is an error on the CPU. On CUDA, as in PyTorch, it is an assertion on the device: a later
/// call reports it, and the device is lost. Several additions to one element on CUDA happen in any
/// order, so the last bits of floats may vary. Truth values are added with "or".
impl Tensor {
    /// `output[i][j] = self[i][index[i][j]]` for `dim` 1, and alike for others. The index may be
    /// smaller than the tensor in the other dimensions.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1, 2], [3, 4]]?;
    /// let index = tensor![[0, 0], [1, 0]]?;
    /// assert_eq!(x.gather(1, &index)?.to_vec::<i64>()?, [1, 1, 4, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shapes or dtypes do not fit; an index is out of range.
    #[track_caller]
    pub fn gather(&self, dim: isize, index: &Tensor) -> Result<Tensor> {
        match (self.dims(), index.dims()) {
            // As in PyTorch, a number counts as a vector of one.
            (0, 1) => return self.unsqueeze(0)?.gather(dim, index),
            (1, 0) => return self.gather(dim, &index.unsqueeze(0)?)?.squeeze(0),
            // No index chooses nothing, of whatever shape.
            _ if index.numel() == 0 && index.dtype().is_integer() => {
                resolve_dim("gather", dim, self.dims())?;
                return self.flatten()?.narrow(0, 0, 0)?.reshape(index.layout().shape());
            }
            _ => {}
        }
        let dim = check_elements("gather", self, dim, index)?;
        let source = cut("gather", self, index, dim)?;
        let output =
            Tensor::uninit(index.layout().shape().clone(), self.dtype(), self.resolved_device())?;
        let source = dense(&source, self.dtype())?;
        let call =
            IndexedCall { output: &output, source: &source, index, large: source.shape(), dim };
        call.run(&GATHER, index.shape().get(dim).copied().unwrap_or(1))?;
        Ok(record("gather", [self], output, |saving| {
            let (shape, index) = (self.layout().shape().clone(), saving.save(index));
            let source = saving.watch(self);
            move |grad: &Tensor, _| {
                source.check()?;
                let zeros = Tensor::zeros(&shape, (grad.dtype(), grad.device()))?;
                Ok([Some(zeros.scatter_add_(dim as isize, &index.get()?, grad)?)])
            }
        }))
    }

    /// The slices of `dim` at the indices of a vector, in the vector's order.
    ///
    /// ```
    /// use tensor::tensor;
    /// let table = tensor![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]?;
    /// let rows = table.index_select(0, &tensor![2, 0, 2]?)?;
    /// assert_eq!(rows.to_vec::<f32>()?, [5.0, 6.0, 1.0, 2.0, 5.0, 6.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The index is not a vector of `I64` or `I32` on the tensor's device; an index is out of range.
    #[track_caller]
    pub fn index_select(&self, dim: isize, index: &Tensor) -> Result<Tensor> {
        let own = check_slices("index_select", self, dim, index)?;
        let shape = selected_shape(self, own, index);
        let output = Tensor::uninit(shape, self.dtype(), self.resolved_device())?;
        let source = dense(self, self.dtype())?;
        let call = IndexedCall {
            output: &output,
            source: &source,
            index,
            large: source.shape(),
            dim: own,
        };
        call.run(&INDEX_SELECT, index.numel())?;
        Ok(record("index_select", [self], output, |saving| {
            let (shape, index) = (self.layout().shape().clone(), saving.save(index));
            move |grad: &Tensor, _| {
                let zeros = Tensor::zeros(&shape, (grad.dtype(), grad.device()))?;
                Ok([Some(zeros.index_add_(dim, &index.get()?, grad)?)])
            }
        }))
    }
}
