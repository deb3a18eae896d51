//! Views of any strides: windows, and `as_strided`.

use smallvec::SmallVec;

use crate::autograd::record;
use crate::dims::resolve_dim;
use crate::layout::{Layout, Strides};
use crate::{DType, Error, Result, Shape, Tensor};

impl Tensor {
    /// The position of the first element in the storage, in elements.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    /// assert_eq!(x.select(0, 1)?.storage_offset(), 2);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn storage_offset(&self) -> usize {
        self.layout().offset()
    }

    /// A view of the tensor's storage with these sizes and strides, which begins at `offset`; all of
    /// them count elements, and the offset counts from the start of the storage. Elements may be
    /// seen several times, and the gradient of such an element is the sum of theirs.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::arange(6.0f32, ())?;
    /// let windows = x.as_strided([3, 2], &[2, 1], 0)?;
    /// assert_eq!(windows.to_vec::<f32>()?, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is not one stride for each size, a stride is negative, or the view does not lie inside
    /// the storage.
    #[track_caller]
    pub fn as_strided(
        &self,
        shape: impl Into<Shape>,
        strides: &[isize],
        offset: usize,
    ) -> Result<Tensor> {
        let shape = shape.into();
        if strides.len() != shape.len() || strides.iter().any(|&stride| stride < 0) {
            return Err(Error::InvalidArgument {
                op: "as_strided",
                argument: "strides",
                value: format!("{strides:?} for the shape {shape}"),
                why: "there must be one for each size, and none may be negative",
            });
        }
        let seen = Layout::strided(shape, Strides::from(strides), offset);
        let view = self.shown(seen)?;
        let (own, seen) = (self.layout().clone(), view.layout().clone());
        Ok(record("as_strided", [self], view, |_| {
            move |grad: &Tensor, _| Ok([Some(gathered(&own, &seen, grad)?)])
        }))
    }
}

impl Tensor {
    /// Windows of `size` neighbours along a dimension, every `step`th of them, as a new last
    /// dimension: a view, in which an element may be seen several times. Its gradient is the sum of
    /// theirs.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let windows = Tensor::arange(5.0f32, ())?.unfold(0, 3, 1)?;
    /// assert_eq!(windows.shape(), [3, 3]);
    /// assert_eq!(windows.select(0, 1)?.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension; a window is larger than it; `step` is 0.
    #[track_caller]
    pub fn unfold(&self, dim: isize, size: usize, step: usize) -> Result<Tensor> {
        const OP: &str = "unfold";
        let own = resolve_dim(OP, dim, self.dims())?;
        let length = self.shape().get(own).copied().unwrap_or(1);
        let refuse = |argument, value: usize, why| {
            Err(Error::InvalidArgument { op: OP, argument, value: value.to_string(), why })
        };
        if size > length {
            return refuse("size", size, "a window is no larger than the dimension");
        }
        if step == 0 {
            return refuse("step", step, "it must be 1 or more");
        }
        // A number is its own only window.
        if self.dims() == 0 {
            return self.unsqueeze(0)?.narrow(0, 0, size);
        }
        let view = self.shown(self.layout().unfold(own, size, step))?;
        Ok(record(OP, [self], view, |_| {
            let shape = self.layout().shape().clone();
            // Beyond the dimension there is no second window.
            let step = step.min(length);
            move |grad: &Tensor, _| Ok([Some(folded(grad, &shape, own, size, step)?)])
        }))
    }
}

/// The gradient of a tensor of whose dimension `dim` windows were seen: the sums of theirs.
fn folded(grad: &Tensor, shape: &Shape, dim: usize, size: usize, step: usize) -> Result<Tensor> {
    let places = |count: usize| Tensor::arange(count, (DType::I64, grad.device()));
    let windows = places(grad.shape()[dim])?.mul(step)?.unsqueeze(1)?;
    let index = windows.add(&places(size)?)?.flatten()?;
    let (dim, next) = (dim as isize, dim as isize + 1);
    let elements = grad.movedim(-1, next)?.flatten_dims(dim, next)?;
    let zeros = Tensor::zeros(shape, (grad.dtype(), grad.device()))?;
    zeros.index_add(dim, &index, &elements)
}

/// The gradient of a tensor with the layout `own`, of whose storage the layout `seen` was a view:
/// the view's gradients are added up where the view has its elements, and read where the tensor has
/// its own. Where the tensor itself has an element several times, each gets an equal share.
fn gathered(own: &Layout, seen: &Layout, grad: &Tensor) -> Result<Tensor> {
    let on_device = |layout: &Layout| {
        let positions = positions(layout);
        Tensor::from_vec(positions, [layout.numel()], grad.device())
    };
    let (own_positions, seen_positions) = (on_device(own)?, on_device(seen)?);
    let memory = Tensor::zeros([own.end().max(seen.end())], (grad.dtype(), grad.device()))?;
    let mut sums = memory.index_add(0, &seen_positions, &grad.flatten()?)?;
    if own.overlaps_itself() {
        let ones = own_positions.ones_like()?.to(grad.dtype())?;
        sums = sums.div(&memory.index_add(0, &own_positions, &ones)?)?;
    }
    sums.index_select(0, &own_positions)?.reshape(own.shape())
}

/// The positions of a layout's elements in the storage, in row-major order.
pub(super) fn positions(layout: &Layout) -> Vec<i64> {
    let mut positions: Vec<i64> = vec![layout.offset() as i64; layout.numel().min(1)];
    for (&size, &stride) in layout.shape().iter().zip(layout.strides()) {
        let steps: SmallVec<[i64; 8]> = (0..size as i64).map(|at| at * stride as i64).collect();
        positions =
            positions.iter().flat_map(|start| steps.iter().map(move |step| start + step)).collect();
    }
    positions
}
