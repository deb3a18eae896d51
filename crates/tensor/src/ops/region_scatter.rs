//! Copies of a tensor with a part of it replaced: what a write to a view is, without the write.

use crate::dims::{different_dims, resolve_dim};
use crate::layout::{Layout, LayoutRegion, NoLayout};
use crate::{Error, Result, Tensor, dispatch};

/// Copies with a part replaced by `source`, which has the part's shape and is converted to the
/// tensor's dtype. The part of the tensor has no gradient, and the source has that of its place.
///
/// All fail where the view of the part would, if the source has another shape than the part, and if
/// the two lie on different devices.
impl Tensor {
    /// A copy in which `source` is what [`Tensor::select`] would give.
    ///
    /// ```
    /// use tensor::{DType, Tensor, tensor};
    /// let x = Tensor::zeros([2, 2], DType::I64)?;
    /// let y = x.select_scatter(&tensor![1, 2]?, 0, -1)?;
    /// assert_eq!(y.to_vec::<i64>()?, [0, 0, 1, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn select_scatter(&self, source: &Tensor, dim: isize, index: isize) -> Result<Tensor> {
        const OP: &str = "select_scatter";
        let part = self.detach().select(dim, index)?;
        let own = self.existing_dim(OP, dim)?;
        let size = self.shape()[own] as isize;
        let at = if index < 0 { index + size } else { index } as usize;
        with_part(OP, self, source, &part, |whole| whole.select(own, at))
    }

    /// A copy in which `source` is what [`Tensor::slice`] would give.
    ///
    /// ```
    /// use tensor::{DType, Tensor, tensor};
    /// let x = Tensor::zeros([4], DType::I64)?;
    /// let y = x.slice_scatter(&tensor![1, 2]?, 0, 0, 4, 2)?;
    /// assert_eq!(y.to_vec::<i64>()?, [1, 0, 2, 0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn slice_scatter(
        &self,
        source: &Tensor,
        dim: isize,
        start: isize,
        end: isize,
        step: usize,
    ) -> Result<Tensor> {
        const OP: &str = "slice_scatter";
        let part = self.detach().slice(dim, start, end, step)?;
        let own = self.existing_dim(OP, dim)?;
        let (size, len) = (self.shape()[own] as isize, part.shape()[own]);
        let start = (if start < 0 { start + size } else { start }).clamp(0, size) as usize;
        with_part(OP, self, source, &part, |whole| whole.slice(own, start, len, step))
    }

    /// A copy in which `source` is what [`Tensor::diagonal`] would give.
    ///
    /// ```
    /// use tensor::{DType, Tensor, tensor};
    /// let x = Tensor::zeros([2, 2], DType::I64)?;
    /// let y = x.diagonal_scatter(&tensor![1, 2]?, 0, 0, 1)?;
    /// assert_eq!(y.to_vec::<i64>()?, [1, 0, 0, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn diagonal_scatter(
        &self,
        source: &Tensor,
        offset: isize,
        dim1: isize,
        dim2: isize,
    ) -> Result<Tensor> {
        const OP: &str = "diagonal_scatter";
        let part = self.detach().diagonal(offset, dim1, dim2)?;
        let dims = self.dims();
        let (row, column) = (resolve_dim(OP, dim1, dims)?, resolve_dim(OP, dim2, dims)?);
        different_dims(OP, row, column)?;
        with_part(OP, self, source, &part, |whole| whole.diagonal(offset, row, column))
    }
}

/// A copy of `x` with `source` in place of a part, which looks like `part` and lies where `cut` finds
/// it in the layout of the copy.
#[track_caller]
fn with_part(
    op: &'static str,
    x: &Tensor,
    source: &Tensor,
    part: &Tensor,
    cut: impl FnOnce(&Layout) -> Result<Layout, NoLayout>,
) -> Result<Tensor> {
    dispatch::same_device(op, &[("self", x), ("source", source)])?;
    if source.shape() != part.shape() {
        let shapes = [("the part of self", part), ("source", source)];
        let shapes = shapes.map(|(name, x)| (name, x.layout().shape().clone())).to_vec();
        return Err(Error::ShapeMismatch { op, shapes, rule: "they must be equal" });
    }
    let error = |problem: NoLayout| problem.of(x.dtype());
    let whole = Layout::contiguous(x.layout().shape().clone()).map_err(error)?;
    let part = cut(&whole).map_err(error)?;
    x.replaced(&LayoutRegion::new(whole, part), source)
}
