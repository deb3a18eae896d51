//! Elements that are chosen by their positions, and the positions of those that are not zero.

use super::places::linear_index;
use crate::autograd::record;
use crate::{DType, Error, Result, Shape, Tensor};

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
    /// ```
    /// use tensor::tensor;
    /// let found = tensor![[0, 5], [6, 0]]?.argwhere()?;
    /// assert_eq!(found.to_vec::<i64>()?, [0, 1, 1, 0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::nonzero`].
    #[track_caller]
    pub fn argwhere(&self) -> Result<Tensor> {
        self.nonzero()
    }

    /// The elements at positions of the tensor as if it were flat; negative ones count from the end.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1, 2], [3, 4]]?;
    /// assert_eq!(x.take(&tensor![3, 0]?)?.to_vec::<i64>()?, [4, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A position is out of range, or the positions are not of dtype `I64`.
    #[track_caller]
    pub fn take(&self, index: &Tensor) -> Result<Tensor> {
        index.expect_dtype("take", DType::I64)?;
        let numel = self.numel();
        let positions = linear_index(&[index.flatten()?], &[numel])?;
        let output = self.detach().flatten()?.index_select(0, &positions)?;
        let output = output.reshape(index.layout().shape())?.detach();
        Ok(record("take", [self], output, |saving| {
            let (shape, index) = (self.layout().shape().clone(), saving.save(index));
            let source = saving.watch(self);
            move |grad: &Tensor, _| {
                source.check()?;
                let positions = linear_index(&[index.get()?.flatten()?], &[numel])?;
                Ok([Some(spread(&grad.flatten()?, &positions, &shape)?)])
            }
        }))
    }

    /// A copy with the elements of `source` at positions of the tensor as if it were flat, or added
    /// there if `accumulate`; negative positions count from the end.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1, 2], [3, 4]]?;
    /// let y = x.put(&tensor![-1, 0]?, &tensor![7, 8]?, false)?;
    /// assert_eq!(y.to_vec::<i64>()?, [8, 2, 3, 7]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A position is out of range, or the positions are not of dtype `I64`; the source has not as many
    /// elements, or another dtype or device.
    #[track_caller]
    pub fn put(&self, index: &Tensor, source: &Tensor, accumulate: bool) -> Result<Tensor> {
        const OP: &str = "put";
        index.expect_dtype(OP, DType::I64)?;
        if index.numel() != source.numel() {
            let shape = |x: &Tensor| x.layout().shape().clone();
            let shapes = vec![("index", shape(index)), ("source", shape(source))];
            let rule = "there must be one element for each position";
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
        let (index, source) = (index.flatten()?, source.flatten()?);
        let flat = self.flatten()?.index_put(&index, &source, accumulate)?;
        flat.reshape(self.layout().shape())
    }

    /// [`Tensor::put`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1, 2]?;
    /// x.put_(&tensor![0, 0]?, &tensor![5, 5]?, true)?;
    /// assert_eq!(x.to_vec::<i64>()?, [11, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::put`] and [`Tensor::copy_`].
    #[track_caller]
    pub fn put_(&self, index: &Tensor, source: &Tensor, accumulate: bool) -> Result<Tensor> {
        let result = self.put(index, source, accumulate)?;
        self.overwritten_by("put_", &result)
    }

    /// [`Tensor::gather`] of two tensors that are broadcast in all dimensions but `dim`, as the
    /// indices of a sort need it.
    ///
    /// ```
    /// use tensor::{keepdim, tensor};
    /// let x = tensor![[1, 5], [4, 3]]?;
    /// let best = x.argmax(keepdim(1))?;
    /// assert_eq!(x.take_along_dim(&best, 1)?.to_vec::<i64>()?, [5, 4]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The numbers of dimensions differ, there is no such dimension, or the sizes do not fit. A
    /// negative index counts from the end; whether there is one, the host waits for.
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
        let source = self.expand(common.with(own, self.shape()[own]))?;
        let index = index.expand(common.with(own, index.shape()[own]))?;
        let wrapped = match index.lt(0)?.any(())?.item::<bool>()? {
            true => Tensor::where_cond(&index.lt(0)?, &index.add(self.shape()[own])?, &index)?,
            false => index,
        };
        source.gather(dim, &wrapped)
    }
}

/// A tensor of zeros, but for elements at positions of it as if it were flat, where the elements of
/// a vector are added.
#[track_caller]
pub(super) fn spread(elements: &Tensor, positions: &Tensor, shape: &Shape) -> Result<Tensor> {
    let zeros = Tensor::zeros([shape.numel()], (elements.dtype(), elements.device()))?;
    zeros.index_add(0, positions, elements)?.reshape(shape)
}
