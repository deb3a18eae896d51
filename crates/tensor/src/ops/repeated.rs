//! Reductions of expanded tensors: elements that `expand` repeats are computed once.
//!
//! So the work of a reduction is bounded by the memory of its operand and of its result, however
//! many elements the operand has.

use crate::{DType, Result, Shape, Tensor, dispatch};

/// The fewest elements for which this is faster than to compute each repetition.
pub(super) const MANY: usize = 1 << 16;

/// A tensor to reduce that repeats its elements along some dimensions, with each element once.
pub(super) struct Once {
    /// Each element once: the dimensions that repeat have size 1.
    tensor: Tensor,
    /// The tensor's sizes.
    whole: Shape,
    /// The number of repetitions of each element in an output.
    times: usize,
    /// The shape of the output.
    output: Shape,
}

impl Once {
    /// Finds the dimensions along which `x` repeats its elements, in a reduction over `dims`.
    /// `None` if there are none, or it is not worth it.
    pub(super) fn of(x: &Tensor, dims: &[usize], keepdim: bool) -> Result<Option<Once>> {
        let layout = x.layout();
        if x.numel() < MANY || !(0..x.dims()).any(|dim| layout.repeats(dim)) {
            return Ok(None);
        }
        let repeated = dims.iter().filter(|&&dim| layout.repeats(dim));
        let times = repeated.map(|&dim| x.shape()[dim]).product();
        let output = dispatch::reduced_shape(x.shape(), dims, keepdim);
        // An alias without history, so that the operations that follow are not recorded.
        Ok(Some(Once {
            tensor: x.alias(layout.without_repetitions())?,
            whole: layout.shape().clone(),
            times,
            output,
        }))
    }

    /// The tensor with each element once.
    pub(super) fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    /// The number of repetitions of each element in an output.
    pub(super) fn times(&self) -> usize {
        self.times
    }

    /// The output for the whole tensor, dense, from that for [`Once::tensor`].
    #[track_caller]
    pub(super) fn repeat(&self, output: Tensor) -> Result<Tensor> {
        if output.shape() == &*self.output {
            Ok(output)
        } else {
            output.expand(&self.output)?.contiguous()
        }
    }

    /// Indices into the whole tensor in row-major order, from indices into [`Once::tensor`].
    #[track_caller]
    pub(super) fn whole_indices(&self, of_once: &Tensor) -> Result<Tensor> {
        let (mut rest, mut indices) = (of_once.clone(), of_once.zeros_like()?);
        let mut step = 1;
        for (&size, &whole) in self.tensor.shape().iter().zip(&*self.whole).rev() {
            if size > 1 {
                indices = indices.add(&rest.remainder(size)?.mul(step)?)?;
                rest = rest.floor_divide(size)?;
            }
            step *= whole;
        }
        Ok(indices)
    }
}

/// The sum of `times` repetitions of each element of `x`.
#[track_caller]
pub(super) fn added(x: &Tensor, times: usize) -> Result<Tensor> {
    // In F64, since neither the number nor the product need fit a narrower float.
    if x.dtype().is_float() {
        x.to(DType::F64)?.mul(times as f64)?.to(x.dtype())
    } else {
        x.mul(times)
    }
}

/// The product of `times` repetitions of each element of `x`, by repeated squaring.
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

/// `x` itself: means and extremes do not change when elements are repeated.
pub(super) fn unchanged(x: &Tensor, _times: usize) -> Result<Tensor> {
    Ok(x.clone())
}
