//! Reductions over what repeats itself: elements that `expand` has made many of are computed once.
//!
//! So the work of a reduction never exceeds the memory of its operand and of its result, however many
//! elements the operand has.

use crate::layout::Layout;
use crate::{DType, Result, Shape, Tensor, dispatch};

/// With fewer elements it is quicker to go through them all.
pub(super) const MANY: usize = 1 << 16;

/// What a reduction has to do with a tensor that repeats its elements along some dimensions.
pub(super) struct Once {
    /// Each element once: the dimensions that repeat have size 1.
    tensor: Tensor,
    /// The tensor's sizes.
    whole: Shape,
    /// How often each element is there that goes into an output.
    times: usize,
    /// The shape of the output.
    output: Shape,
}

impl Once {
    /// Looks for what repeats in `x`, of which the dimensions `dims` are folded; nothing where that is
    /// not worth it.
    pub(super) fn of(x: &Tensor, dims: &[usize], keepdim: bool) -> Result<Option<Once>> {
        let layout = x.layout();
        if x.numel() < MANY || !layout.overlaps_itself() {
            return Ok(None);
        }
        let mut once = Ok(layout.clone());
        let mut times = 1;
        for dim in (0..x.dims()).filter(|&dim| layout.repeats(dim)) {
            once = once.and_then(|once: Layout| once.slice(dim, 0, 1, 1));
            times *= if dims.contains(&dim) { x.shape()[dim] } else { 1 };
        }
        let output = dispatch::reduced_shape(x.shape(), dims, keepdim);
        // Without the history, so that nothing of how it is computed is recorded.
        Ok(Some(Once { tensor: x.alias(once)?, whole: layout.shape().clone(), times, output }))
    }

    /// Each element once.
    pub(super) fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    /// How often each element is there that goes into an output.
    pub(super) fn times(&self) -> usize {
        self.times
    }

    /// The output for the whole tensor, dense, of the one for [`Once::tensor`].
    #[track_caller]
    pub(super) fn repeat(&self, output: Tensor) -> Result<Tensor> {
        if output.shape() == &*self.output {
            Ok(output)
        } else {
            output.expand(&self.output)?.contiguous()
        }
    }

    /// The places in row-major order of the whole tensor that places in [`Once::tensor`] are.
    #[track_caller]
    pub(super) fn places(&self, of_once: &Tensor) -> Result<Tensor> {
        let (mut rest, mut places) = (of_once.clone(), of_once.zeros_like()?);
        let mut step = 1;
        for (&size, &whole) in self.tensor.shape().iter().zip(&*self.whole).rev() {
            if size > 1 {
                places = places.add(&rest.remainder(size)?.mul(step)?)?;
                rest = rest.floor_divide(size)?;
            }
            step *= whole;
        }
        Ok(places)
    }
}

/// The sum of `times` times the same, of each element of `x`.
#[track_caller]
pub(super) fn added(x: &Tensor, times: usize) -> Result<Tensor> {
    // Rounded once: neither does the number fit a narrow float nor the product on its way.
    if x.dtype().is_float() {
        x.to(DType::F64)?.mul(times as f64)?.to(x.dtype())
    } else {
        x.mul(times)
    }
}

/// The product of `times` times the same, of each element of `x`: by repeated squaring.
#[track_caller]
pub(super) fn multiplied(x: &Tensor, times: usize) -> Result<Tensor> {
    let (mut product, mut square, mut rest) = (x.ones_like()?, x.clone(), times);
    while rest > 0 {
        if rest & 1 == 1 {
            product = product.mul(&square)?;
        }
        rest >>= 1;
        if rest > 0 {
            square = square.square()?;
        }
    }
    Ok(product)
}

/// What repeating an element does not change.
pub(super) fn unchanged(x: &Tensor, _times: usize) -> Result<Tensor> {
    Ok(x.clone())
}
