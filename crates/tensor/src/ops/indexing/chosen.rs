//! Elements that are chosen by their positions or by what they are.

use super::advanced::linear_index;
use crate::{DType, Error, Result, Tensor};

/// Elements by position, made of [`Tensor::index_select`] and [`Tensor::gather`].
impl Tensor {
    /// The indices of the elements that are not zero, a row for each of them. It waits for the
    /// elements, since their number is the result's shape.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[0.0, 1.0], [2.0, 0.0]]?;
    /// assert_eq!(x.nonzero()?.to_vec::<i64>()?, [0, 1, 1, 0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub fn nonzero(&self) -> Result<Tensor> {
        let truths = self.detach().to(DType::Bool)?.to_vec::<bool>()?;
        let mut indices: Vec<i64> = Vec::new();
        let mut count = 0;
        for position in (0..truths.len()).filter(|&at| truths[at]) {
            let (start, mut rest) = (indices.len(), position);
            for &size in self.shape().iter().rev() {
                indices.push((rest % size) as i64);
                rest /= size;
            }
            indices[start..].reverse();
            count += 1;
        }
        Tensor::from_vec(indices, [count, self.dims()], self.device())
    }

    /// [`Tensor::nonzero`] under NumPy's name.
    ///
    /// # Errors
    /// As [`Tensor::nonzero`].
    #[track_caller]
    pub fn argwhere(&self) -> Result<Tensor> {
        self.nonzero()
    }

    /// The elements at which a mask is true, in one dimension. The two are broadcast.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, -2.0, 3.0]?;
    /// assert_eq!(x.masked_select(&x.gt(0.0)?)?.to_vec::<f32>()?, [1.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The mask is not of dtype `Bool`, or the shapes do not fit.
    #[track_caller]
    pub fn masked_select(&self, mask: &Tensor) -> Result<Tensor> {
        if mask.dtype() != DType::Bool {
            let arguments = vec![("mask", mask.dtype())];
            let rule = "it must be bool";
            return Err(Error::DTypeMismatch { op: "masked_select", arguments, rule });
        }
        let both = Tensor::broadcast_tensors(&[self, mask])?;
        let positions = both[1].flatten()?.nonzero()?.flatten()?;
        both[0].flatten()?.index_select(0, &positions)
    }

    /// The elements at positions of the tensor as if it were flat; negative ones count from the end.
    ///
    /// # Errors
    /// A position is out of range, or the positions are not of dtype `I64`.
    #[track_caller]
    pub fn take(&self, index: &Tensor) -> Result<Tensor> {
        index.expect_dtype("take", DType::I64)?;
        let positions = linear_index(&[index.flatten()?], &[self.numel()])?;
        self.flatten()?.index_select(0, &positions)?.reshape(index.layout().shape())
    }

    /// [`Tensor::gather`] of two tensors that are broadcast in all dimensions but `dim`, as the
    /// indices of a sort need it.
    ///
    /// # Errors
    /// The numbers of dimensions differ, there is no such dimension, or the sizes do not fit.
    #[track_caller]
    pub fn take_along_dim(&self, index: &Tensor, dim: isize) -> Result<Tensor> {
        const OP: &str = "take_along_dim";
        let own = crate::dims::resolve_dim(OP, dim, self.dims())?;
        let mismatch = || Error::ShapeMismatch {
            op: OP,
            shapes: vec![
                ("self", self.layout().shape().clone()),
                ("index", index.layout().shape().clone()),
            ],
            rule: "they must have as many dimensions, and sizes that broadcast but for `dim`",
        };
        if self.dims() != index.dims() || self.dims() == 0 {
            return Err(mismatch());
        }
        let with_one = |x: &Tensor| x.layout().shape().with(own, 1);
        let common = with_one(self).broadcast(&with_one(index)).ok_or_else(mismatch)?;
        let source = self.expand(&common.with(own, self.shape()[own]))?;
        source.gather(dim, &index.expand(&common.with(own, index.shape()[own]))?)
    }
}
