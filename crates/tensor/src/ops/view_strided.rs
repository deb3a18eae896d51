//! Views of any strides: `as_strided`.

use smallvec::SmallVec;

use crate::autograd::record;
use crate::layout::{Layout, Strides};
use crate::{Error, Result, Shape, Tensor};

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
fn positions(layout: &Layout) -> Vec<i64> {
    let mut positions: Vec<i64> = vec![layout.offset() as i64; layout.numel().min(1)];
    for (&size, &stride) in layout.shape().iter().zip(layout.strides()) {
        let steps: SmallVec<[i64; 8]> = (0..size as i64).map(|at| at * stride as i64).collect();
        positions =
            positions.iter().flat_map(|start| steps.iter().map(move |step| start + step)).collect();
    }
    positions
}
