//! Views: tensors with other sizes, orders or parts of the same memory.

use super::view_shape::ViewShape;
use crate::autograd::record;
use crate::dims::{Dims, resolve_dim};
use crate::layout::{Layout, LayoutRegion, NoLayout};
use crate::tensor::ViewCreation;
use crate::{Error, Result, Shape, Tensor, is_grad_enabled};

/// Views share the tensor's memory: writes through one are seen through all. No element is copied,
/// and gradients flow through. They fail if a dimension does not exist or a part lies outside.
impl Tensor {
    /// The same elements in the same order under other sizes. One size may be -1, and is computed
    /// from the others.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// let y = x.view((3, -1))?;
    /// assert_eq!(y.shape(), [3, 2]);
    /// assert!(y.shares_memory_with(&x));
    /// assert!(x.t()?.view([6]).is_err(), "it would need a copy: see `reshape`");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The sizes have another number of elements; or the elements do not lie evenly enough
    /// ([`Error::NotContiguous`]), where [`Tensor::reshape`] would copy.
    #[track_caller]
    pub fn view(&self, shape: impl Into<ViewShape>) -> Result<Tensor> {
        let shape = shape.into().resolve("view", self.numel())?;
        match self.viewed(&shape)? {
            Some(view) => Ok(reshaped("view", self, view)),
            None => Err(self.not_contiguous("view")),
        }
    }

    /// [`Tensor::view`], of a copy if a view is not possible.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.t()?.reshape([-1])?.to_vec::<f32>()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The sizes have another number of elements.
    #[track_caller]
    pub fn reshape(&self, shape: impl Into<ViewShape>) -> Result<Tensor> {
        let shape = shape.into().resolve("reshape", self.numel())?;
        match self.viewed(&shape)? {
            Some(view) => Ok(reshaped("view", self, view)),
            None => {
                let dense = self.contiguous()?;
                let view = dense.alias(Layout::contiguous(shape))?;
                Ok(reshaped("view", &dense, view))
            }
        }
    }

    /// The elements of a dense result that nobody else has, under other sizes: a result, too, and no
    /// view (PyTorch's `_unsafe_view`).
    ///
    /// # Errors
    /// The sizes have another number of elements.
    pub(super) fn with_sizes(&self, shape: Shape) -> Result<Tensor> {
        let same = self.alias(Layout::contiguous(shape))?;
        Ok(reshaped("view", self, same))
    }

    /// A view with other sizes, or `None` if that needs a copy.
    fn viewed(&self, shape: &Shape) -> Result<Option<Tensor>> {
        self.layout().view(shape).transpose().map(|layout| self.shown(layout)).transpose()
    }

    /// All dimensions merged into one. A vector is given back itself.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.flatten()?.shape(), [6]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn flatten(&self) -> Result<Tensor> {
        self.flatten_dims(0, -1)
    }

    /// The dimensions from `start` to `end`, both included, merged into one; `(1, -1)` keeps the
    /// batch. Where that is one dimension, the tensor is given back itself.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::zeros([2, 3, 4, 5], ())?;
    /// assert_eq!(x.flatten_dims(1, -1)?.shape(), [2, 60]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn flatten_dims(&self, start: isize, end: isize) -> Result<Tensor> {
        let (start, end) = (
            resolve_dim("flatten", start, self.dims())?,
            resolve_dim("flatten", end, self.dims())?,
        );
        if start > end {
            return Err(Error::InvalidArgument {
                op: "flatten",
                argument: "start",
                value: start.to_string(),
                why: "it must not come after `end`",
            });
        }
        if self.dims() == 0 {
            return self.reshape([1]);
        }
        if start == end {
            return Ok(self.clone());
        }
        let (before, rest) = self.shape().split_at(start);
        let (merged, after) = rest.split_at(end + 1 - start);
        let merged = merged.iter().product();
        let sizes = before.iter().copied().chain([merged]).chain(after.iter().copied());
        self.reshape(sizes.collect::<Shape>())
    }

    /// The tensor with two dimensions exchanged.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::zeros([2, 3, 4], ())?;
    /// assert_eq!(x.transpose(-2, -1)?.shape(), [2, 4, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn transpose(&self, first: isize, second: isize) -> Result<Tensor> {
        let (first, second) = (
            resolve_dim("transpose", first, self.dims())?,
            resolve_dim("transpose", second, self.dims())?,
        );
        if self.dims() == 0 {
            return Ok(self.clone());
        }
        let creation = creation(ViewCreation::Recorded);
        let view = self.differentiable_part(creation, |layout| layout.exchange(first, second));
        Ok(record("transpose", [self], view, |_| {
            move |grad: &Tensor, _| Ok([Some(grad.transpose(first as isize, second as isize)?)])
        }))
    }

    /// A matrix transposed; vectors and 0-dimensional tensors stay as they are.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.t()?.to_vec::<f32>()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are more than two dimensions; `transpose` says which to exchange.
    #[track_caller]
    pub fn t(&self) -> Result<Tensor> {
        match self.dims() {
            0 | 1 => Ok(self.clone()),
            2 => self.transpose(0, 1),
            dims => Err(Error::InvalidArgument {
                op: "t",
                argument: "self",
                value: format!("a tensor of {dims} dimensions"),
                why: "at most two; transpose says which to exchange",
            }),
        }
    }

    /// The tensor with its dimensions in another order: dimension `i` of the view is dimension
    /// `order[i]`.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let image = Tensor::zeros([32, 24, 3], ())?;
    /// assert_eq!(image.permute((2, 0, 1))?.shape(), [3, 32, 24]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `order` does not name each dimension once.
    #[track_caller]
    pub fn permute(&self, order: impl Into<Dims>) -> Result<Tensor> {
        permuted(self, &order.into())
    }

    /// The part with the `len` indices of `dim` from `start` on.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.narrow(1, 1, 2)?.to_vec::<f32>()?, [2.0, 3.0, 5.0, 6.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn narrow(&self, dim: isize, start: usize, len: usize) -> Result<Tensor> {
        let own = self.existing_dim("narrow", dim)?;
        let size = self.shape()[own];
        if start.checked_add(len).is_none_or(|end| end > size) {
            let index = i64::try_from(start.saturating_add(len)).unwrap_or(i64::MAX);
            return Err(Error::IndexOutOfRange { op: "narrow", position: None, index, size });
        }
        let creation = creation(ViewCreation::Recorded);
        let view = match self.layout().has_part(len) {
            true => self.differentiable_part(creation, |layout| layout.narrow(own, start, len)),
            false => self.shown(self.layout().slice(own, start, len, 1))?,
        };
        Ok(self.recorded_part("narrow", view, move |layout| layout.slice(own, start, len, 1)))
    }

    /// Every `step`th index of `dim` from `start` to before `end`, as Python slices: negative
    /// bounds count from the end, and bounds outside are brought to the nearest inside.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::arange(10, DType::I64)?;
    /// assert_eq!(x.slice(0, 1, -1, 3)?.to_vec::<i64>()?, [1, 4, 7]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `step` is 0.
    #[track_caller]
    pub fn slice(&self, dim: isize, start: isize, end: isize, step: usize) -> Result<Tensor> {
        let own = self.existing_dim("slice", dim)?;
        if step == 0 {
            return Err(Error::InvalidArgument {
                op: "slice",
                argument: "step",
                value: "0".to_owned(),
                why: "it must be 1 or more",
            });
        }
        let size = self.shape()[own] as isize;
        let bound = |at: isize| (if at < 0 { at + size } else { at }).clamp(0, size) as usize;
        let (start, end) = (bound(start), bound(end));
        let len = end.saturating_sub(start).div_ceil(step);
        self.part("slice", move |layout| layout.slice(own, start, len, step))
    }

    /// The part at `index` of `dim`, without that dimension. A negative index counts from the end.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.select(0, -1)?.to_vec::<f32>()?, [4.0, 5.0, 6.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn select(&self, dim: isize, index: isize) -> Result<Tensor> {
        let own = self.existing_dim("select", dim)?;
        let size = self.shape()[own];
        let at = if index < 0 { index + size as isize } else { index };
        if !(0..size as isize).contains(&at) {
            return Err(Error::IndexOutOfRange {
                op: "select",
                position: None,
                index: index as i64,
                size,
            });
        }
        self.part("select", move |layout| layout.select(own, at as usize))
    }

    /// The tensor without `dim` if its size is 1, else as it is.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::zeros([2, 1, 3], ())?;
    /// assert_eq!(x.squeeze(1)?.shape(), [2, 3]);
    /// assert_eq!(x.squeeze(0)?.shape(), [2, 1, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn squeeze(&self, dim: isize) -> Result<Tensor> {
        let own = resolve_dim("squeeze", dim, self.dims())?;
        let layout = self.layout().without_dims(|candidate, size| candidate == own && size == 1);
        Ok(reshaped("squeeze", self, self.shown(layout)?))
    }

    /// The tensor without its dimensions of size 1.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::zeros([1, 2, 1], ())?;
    /// assert_eq!(x.squeeze_all()?.shape(), [2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn squeeze_all(&self) -> Result<Tensor> {
        let layout = self.layout().without_dims(|_, size| size == 1);
        Ok(reshaped("squeeze", self, self.shown(layout)?))
    }

    /// The tensor with a new dimension of size 1 at `dim`, from 0 to the number of dimensions;
    /// negative ones count from behind the end.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]?;
    /// assert_eq!(x.unsqueeze(0)?.shape(), [1, 2, 3]);
    /// assert_eq!(x.unsqueeze(-1)?.shape(), [2, 3, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn unsqueeze(&self, dim: isize) -> Result<Tensor> {
        let own = resolve_dim("unsqueeze", dim, self.dims() + 1)?;
        Ok(reshaped("unsqueeze", self, self.shown(self.layout().unsqueeze(own))?))
    }

    /// The tensor with dimensions of size 1 repeated, and new ones put in front, without copies
    /// (stride 0);
    /// -1 keeps a size.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0], [2.0]]?;
    /// assert_eq!(x.expand((-1, 2))?.to_vec::<f32>()?, [1.0, 1.0, 2.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shape does not broadcast to the one that was asked for.
    #[track_caller]
    pub fn expand(&self, shape: impl Into<ViewShape>) -> Result<Tensor> {
        let wanted = shape.into().expand("expand", self.shape())?;
        let layout =
            self.layout().expand(&wanted).transpose().ok_or_else(|| Error::ShapeMismatch {
                op: "expand",
                shapes: vec![("self", self.layout().shape().clone()), ("shape", wanted)],
                rule: "sizes must be equal, or 1 in `self`, counted from the innermost",
            })?;
        // The engine sums the gradient to the input's shape.
        Ok(record("expand", [self], self.shown(layout)?, |_| {
            |grad: &Tensor, _| Ok([Some(grad.clone())])
        }))
    }

    /// The part that a function of the layout cuts out. The gradient of the rest is zero.
    #[track_caller]
    pub(super) fn part(
        &self,
        name: &'static str,
        cut: impl Fn(&Layout) -> Result<Layout, NoLayout> + Send + Sync + 'static,
    ) -> Result<Tensor> {
        let view = self.shown(cut(self.layout()))?;
        Ok(self.recorded_part(name, view, cut))
    }

    /// Records a view as the part that a function of the layout cuts out.
    #[track_caller]
    fn recorded_part(
        &self,
        name: &'static str,
        view: Tensor,
        cut: impl Fn(&Layout) -> Result<Layout, NoLayout> + Send + Sync + 'static,
    ) -> Tensor {
        record(name, [self], view, |_| {
            let shape = self.layout().shape().clone();
            move |grad: &Tensor, _| {
                let error = |problem: NoLayout| problem.of(grad.dtype());
                let whole = Layout::contiguous(shape.clone()).map_err(error)?;
                let part = cut(&whole).map_err(error)?;
                Ok([Some(grad.spread(&LayoutRegion::new(whole, part))?)])
            }
        })
    }

    /// A view of this layout.
    pub(super) fn shown(&self, layout: Result<Layout, NoLayout>) -> Result<Tensor> {
        self.differentiable_view(layout, creation(ViewCreation::Recorded))
    }

    /// A dimension that the tensor has; a 0-dimensional tensor has none.
    pub(super) fn existing_dim(&self, op: &'static str, dim: isize) -> Result<usize> {
        match self.dims() {
            0 => Err(Error::DimOutOfRange { op, dim, dims: 0 }),
            dims => resolve_dim(op, dim, dims),
        }
    }
}

/// [`Tensor::permute`].
#[track_caller]
fn permuted(x: &Tensor, order: &[isize]) -> Result<Tensor> {
    let resolved: Result<Vec<usize>> =
        order.iter().map(|&dim| resolve_dim("permute", dim, x.dims())).collect();
    let order_of = resolved?;
    let mut inverse = vec![usize::MAX; x.dims()];
    for (position, &dim) in order_of.iter().enumerate() {
        if let Some(slot) = inverse.get_mut(dim) {
            *slot = position;
        }
    }
    if order_of.len() != x.dims() || inverse.contains(&usize::MAX) {
        return Err(Error::InvalidArgument {
            op: "permute",
            argument: "order",
            value: format!("{order:?}"),
            why: "it must name each dimension once",
        });
    }
    let view = x.shown(Ok(x.layout().permute(&order_of)))?;
    Ok(record("permute", [x], view, |_| {
        let inverse: Vec<isize> = inverse.iter().map(|&dim| dim as isize).collect();
        move |grad: &Tensor, _| Ok([Some(grad.permute(&inverse)?)])
    }))
}

/// Records a view with the same elements in the same order: its gradient is reshaped back.
#[track_caller]
fn reshaped(name: &'static str, x: &Tensor, view: Tensor) -> Tensor {
    record(name, [x], view, |_| {
        let shape = x.layout().shape().clone();
        move |grad: &Tensor, _| Ok([Some(grad.reshape(&shape)?)])
    })
}

/// The way in which a view is made that would be made as `recorded` in grad mode.
pub(super) fn creation(recorded: ViewCreation) -> ViewCreation {
    if is_grad_enabled() { recorded } else { ViewCreation::WithoutGradMode }
}
