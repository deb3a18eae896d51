//! Differences of neighbours, and elements that are repeated one by one.

use super::search;
use crate::dims::resolve_dim;
use crate::{DType, Error, Result, Tensor, dispatch, no_grad};

impl Tensor {
    /// The differences of neighbours along a dimension, taken `n` times; of truth values whether they
    /// differ. The result is shorter by `n`.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![1, 4, 9, 16]?.diff(1, 0)?.to_vec::<i64>()?, [3, 5, 7]);
    /// assert_eq!(tensor![1, 4, 9, 16]?.diff(2, 0)?.to_vec::<i64>()?, [2, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension, or no dimension at all.
    #[track_caller]
    pub fn diff(&self, n: usize, dim: isize) -> Result<Tensor> {
        self.diff_with(n, dim, None, None)
    }

    /// [`Tensor::diff`] with elements before and after those of the tensor.
    ///
    /// ```
    /// use tensor::tensor;
    /// let zero = tensor![0]?;
    /// let steps = tensor![1, 4, 9]?.diff_with(1, 0, Some(&zero), None)?;
    /// assert_eq!(steps.to_vec::<i64>()?, [1, 3, 5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::diff`] and [`Tensor::cat`].
    #[track_caller]
    pub fn diff_with(
        &self,
        n: usize,
        dim: isize,
        prepend: Option<&Tensor>,
        append: Option<&Tensor>,
    ) -> Result<Tensor> {
        const OP: &str = "diff";
        let own = resolve_dim(OP, dim, self.dims())?;
        if self.dims() == 0 {
            return Err(Error::DimOutOfRange { op: OP, dim, dims: 0 });
        }
        if n == 0 {
            return self.clone_data();
        }
        let dim = own as isize;
        let parts: Vec<&Tensor> = [prepend, Some(self), append].into_iter().flatten().collect();
        let mut x = if parts.len() > 1 { Tensor::cat(&parts, dim)? } else { self.clone() };
        for _ in 0..n.min(x.shape()[own]) {
            let rest = x.shape()[own].saturating_sub(1);
            let [later, earlier] =
                [x.narrow(dim, x.shape()[own] - rest, rest)?, x.narrow(dim, 0, rest)?];
            x = match x.dtype() {
                DType::Bool => later.logical_xor(&earlier)?,
                _ => later.sub(&earlier)?,
            };
        }
        Ok(x)
    }

    /// Each element `repeats` times, one after the other, along a dimension, or of the flat tensor.
    /// [`Tensor::repeat`] repeats the whole.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1, 2], [3, 4]]?;
    /// assert_eq!(x.repeat_interleave(2, None)?.to_vec::<i64>()?, [1, 1, 2, 2, 3, 3, 4, 4]);
    /// assert_eq!(x.repeat_interleave(2, Some(0))?.shape(), [4, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension; the result would be larger than memory.
    #[track_caller]
    pub fn repeat_interleave(&self, repeats: usize, dim: Option<isize>) -> Result<Tensor> {
        let (x, dim) = along("repeat_interleave", self, dim)?;
        let next = x.unsqueeze(dim as isize + 1)?;
        let shape = next.layout().shape().with(dim + 1, repeats);
        let repeated = next.expand(&shape)?.flatten_dims(dim as isize, dim as isize + 1)?;
        // One repetition is a view, where a copy is promised.
        if repeated.shares_memory_with(self) { repeated.clone_data() } else { Ok(repeated) }
    }

    /// [`Tensor::repeat_interleave`] with a number of repetitions for each element of the dimension,
    /// or one for all. The host waits for their sum.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![5, 6, 7]?.repeat_interleave_by(&tensor![2, 0, 1]?, None)?;
    /// assert_eq!(x.to_vec::<i64>()?, [5, 5, 7]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension; the repetitions are no vector of `I64` or `I32` of its size, lie on
    /// another device, or one is negative.
    #[track_caller]
    pub fn repeat_interleave_by(&self, repeats: &Tensor, dim: Option<isize>) -> Result<Tensor> {
        const OP: &str = "repeat_interleave";
        let (x, dim) = along(OP, self, dim)?;
        dispatch::same_device(OP, &[("self", self), ("repeats", repeats)])?;
        if !matches!(repeats.dtype(), DType::I64 | DType::I32) {
            let arguments = vec![("repeats", repeats.dtype())];
            let rule = "repetitions are of dtype int64 or int32";
            return Err(Error::DTypeMismatch { op: OP, arguments, rule });
        }
        let size = x.shape()[dim];
        let is_one = repeats.numel() == 1;
        if repeats.dims() > 1 || !(is_one || repeats.numel() == size) {
            let shapes = [("self", &x), ("repeats", repeats)];
            let shapes = shapes.map(|(name, x)| (name, x.layout().shape().clone())).to_vec();
            let rule = "`repeats` must be a vector of one entry, or one for each place of `dim`";
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
        let index = no_grad(|| {
            let repeats = repeats.detach().to(DType::I64)?.flatten()?.expand([size])?;
            search::repeated_places(OP, &repeats)
        })?;
        x.index_select(dim as isize, &index)
    }
}

/// The tensor and its dimension, or the flat tensor and its only one. A number is a vector of one
/// element.
#[track_caller]
fn along(op: &'static str, x: &Tensor, dim: Option<isize>) -> Result<(Tensor, usize)> {
    match dim {
        Some(dim) => {
            let own = resolve_dim(op, dim, x.dims())?;
            Ok((if x.dims() == 0 { x.reshape([1])? } else { x.clone() }, own))
        }
        None => Ok((x.flatten()?, 0)),
    }
}
