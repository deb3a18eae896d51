//! Calls of the operators that choose elements along a dimension by a tensor of indices: checks of
//! the operands, and their preparation.

use crate::dims::{around, resolve_dim};
use crate::dispatch::abi::Index;
use crate::dispatch::{self, IndexCall, Operator, indexed};
use crate::ops::convert::{convert, dense};
use crate::{DType, Error, Result, Shape, Tensor};

/// `x`, or a copy of it if it shares memory with `target`, so that writing the one would change the
/// other.
#[track_caller]
pub(super) fn apart(target: &Tensor, x: &Tensor) -> Result<Tensor> {
    if x.shares_memory_with(target) { convert(x, x.dtype()) } else { Ok(x.clone()) }
}

/// The shape of the slices of `dim` at the entries of `index`.
pub(super) fn selected_shape(x: &Tensor, dim: usize, index: &Tensor) -> Shape {
    match x.dims() {
        0 => Shape::default(),
        _ => x.layout().shape().with(dim, index.numel()),
    }
}

/// An indexed call with the shapes of its tensors, which [`IndexCall`] has as three dimensions.
pub(super) struct IndexedCall<'a> {
    pub(super) output: &'a Tensor,
    pub(super) source: &'a Tensor,
    pub(super) index: &'a Tensor,
    /// The shape of the side that the indices choose from.
    pub(super) large: &'a [usize],
    pub(super) dim: usize,
}

impl IndexedCall<'_> {
    #[track_caller]
    pub(super) fn run(&self, operator: &'static Operator<Index>, count: usize) -> Result<()> {
        let index = dense(self.index, DType::I64)?;
        let [outer, size, inner] = around(self.large, self.dim);
        let call = IndexCall {
            output: self.output,
            source: self.source,
            index: &index,
            outer,
            size,
            count,
            inner,
        };
        indexed(operator, &call)
    }
}

/// The dimension, after the checks that all these operations have in common.
fn check(
    op: &'static str,
    x: &Tensor,
    dim: isize,
    index: &Tensor,
    per_element: bool,
) -> Result<usize> {
    dispatch::same_device(op, &[("self", x), ("index", index)])?;
    // As in PyTorch, the dtype of no indices for single elements does not count.
    let is_empty = per_element && index.numel() == 0;
    if !matches!(index.dtype(), DType::I64 | DType::I32) && !is_empty {
        let arguments = vec![("index", index.dtype())];
        let rule = "indices are of dtype int64 or int32";
        return Err(Error::DTypeMismatch { op, arguments, rule });
    }
    resolve_dim(op, dim, x.dims())
}

/// The dimension of an operation with an index for each element.
pub(super) fn check_elements(
    op: &'static str,
    x: &Tensor,
    dim: isize,
    index: &Tensor,
) -> Result<usize> {
    check(op, x, dim, index, true)
}

/// The dimension of an operation with an index for each slice.
pub(super) fn check_slices(
    op: &'static str,
    x: &Tensor,
    dim: isize,
    index: &Tensor,
) -> Result<usize> {
    let own = check(op, x, dim, index, false)?;
    if index.dims() > 1 || (x.dims() == 0 && index.numel() != 1) {
        let rule = "`index` must be a vector (of one entry where `self` is a single number)";
        let shapes = shapes([("self", x), ("index", index)]);
        return Err(Error::ShapeMismatch { op, shapes, rule });
    }
    Ok(own)
}

/// # Errors
/// `source` has another shape than the slices of `x` at the entries of `index`.
pub(super) fn check_selected(
    op: &'static str,
    x: &Tensor,
    dim: usize,
    index: &Tensor,
    source: &Tensor,
) -> Result<()> {
    if *source.shape() == *selected_shape(x, dim, index) {
        return Ok(());
    }
    let shapes = shapes([("self", x), ("index", index), ("source", source)]);
    let rule = "`source` must have the shape of the slices of `self` at `index`";
    Err(Error::ShapeMismatch { op, shapes, rule })
}

/// # Errors
/// The two lie on different devices, or differ in dtype.
pub(in crate::ops) fn check_source(op: &'static str, x: &Tensor, source: &Tensor) -> Result<()> {
    dispatch::same_device(op, &[("self", x), ("source", source)])?;
    dispatch::same_dtype(op, &[("self", x), ("source", source)])?;
    Ok(())
}

/// The part of `x` that `index` covers: its sizes, but for `dim`.
pub(super) fn cut(op: &'static str, x: &Tensor, index: &Tensor, dim: usize) -> Result<Tensor> {
    let covers = |(d, (&own, &wanted)): (usize, (&usize, &usize))| d == dim || wanted <= own;
    let fits =
        index.dims() == x.dims() && x.shape().iter().zip(index.shape()).enumerate().all(covers);
    if !fits {
        let shapes = shapes([("self", x), ("index", index)]);
        let rule = "`index` must have as many dimensions, and no larger sizes but along `dim`";
        return Err(Error::ShapeMismatch { op, shapes, rule });
    }
    let mut sizes = index.layout().shape().clone();
    if let Some(&own) = x.shape().get(dim) {
        sizes = sizes.with(dim, own);
    }
    x.alias(x.layout().corner(&sizes))
}

/// The shapes of tensors, for errors.
pub(super) fn shapes<const N: usize>(
    named: [(&'static str, &Tensor); N],
) -> Vec<(&'static str, Shape)> {
    named.into_iter().map(|(name, tensor)| (name, tensor.layout().shape().clone())).collect()
}
