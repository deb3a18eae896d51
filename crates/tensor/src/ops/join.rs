//! Joining tensors: `cat` and `stack`.

use std::borrow::Borrow;

use smallvec::SmallVec;

use super::convert::copy_into;
use crate::autograd::record_many;
use crate::checked_size::CheckedSize;
use crate::dims::resolve_dim;
use crate::dispatch::{self, CatPart};
use crate::promote::{Typed, result_type};
use crate::resolved_device::ResolvedDevice;
use crate::{Error, Result, Shape, Tensor};

/// The names of the joined tensors in errors. After the first three all have the same one.
const NAMES: [&str; 4] = ["tensors[0]", "tensors[1]", "tensors[2]", "tensors[3..]"];

impl Tensor {
    /// Joins tensors along the existing dimension `dim`, in the dtype that they are promoted to. A
    /// tensor of the shape `[0]` fits all others, and adds nothing, as in PyTorch.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let (a, b) = (tensor![[1.0, 2.0]]?, tensor![[3.0, 4.0]]?);
    /// assert_eq!(Tensor::cat([&a, &b], 0)?.shape(), [2, 2]);
    /// assert_eq!(Tensor::cat([&a, &b], 1)?.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no tensor; they differ in another size than that of `dim`, or in their devices;
    /// they are too long together.
    #[track_caller]
    pub fn cat<T: Borrow<Tensor>>(tensors: impl AsRef<[T]>, dim: isize) -> Result<Tensor> {
        joined(&borrowed(tensors.as_ref()), dim)
    }

    /// Joins tensors of one shape along a new dimension at `dim`.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let (a, b) = (tensor![1.0, 2.0]?, tensor![3.0, 4.0]?);
    /// assert_eq!(Tensor::stack([&a, &b], 0)?.shape(), [2, 2]);
    /// assert_eq!(Tensor::stack([&a, &b], -1)?.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no tensor; they differ in shape or device; `dim` is not 0 to their number of
    /// dimensions.
    #[track_caller]
    pub fn stack<T: Borrow<Tensor>>(tensors: impl AsRef<[T]>, dim: isize) -> Result<Tensor> {
        stacked(&borrowed(tensors.as_ref()), dim)
    }
}

/// References to all of a list of tensors.
pub(super) fn borrowed<T: Borrow<Tensor>>(tensors: &[T]) -> SmallVec<[&Tensor; 4]> {
    tensors.iter().map(T::borrow).collect()
}

/// [`Tensor::cat`].
#[track_caller]
fn joined(tensors: &[&Tensor], dim: isize) -> Result<Tensor> {
    const OP: &str = "cat";
    let joined = tensors.iter().find(|tensor| !is_nothing(tensor)).or(tensors.first());
    let first = *joined.ok_or_else(|| nothing(OP))?;
    let dim = resolve_dim(OP, dim, first.dims())?;
    let mut named = named(tensors);
    let device = dispatch::same_device(OP, &named)?;
    named.retain(|(_, tensor)| !is_nothing(tensor) || is_nothing(first));
    check_sizes(OP, &named, dim)?;
    let length_of = |tensor: &Tensor| if is_nothing(tensor) { 0 } else { tensor.shape()[dim] };
    let length: CheckedSize = tensors.iter().map(|tensor| length_of(tensor)).sum();
    let typed: Vec<Typed> = tensors.iter().map(|t| Typed::Dimensioned(t.dtype())).collect();
    let shape = first.layout().shape().with(dim, length.size_or_max());
    let output = Tensor::uninit(shape, result_type(&typed), device)?;
    let mut start = 0;
    let parts = tensors.iter().map(|tensor| {
        start += length_of(tensor);
        (start - length_of(tensor), *tensor)
    });
    write_parts(&output, dim, parts.filter(|(_, tensor)| length_of(tensor) > 0))?;
    Ok(record_many(OP, tensors, output, |_| {
        let lengths: Vec<(usize, bool)> =
            tensors.iter().map(|tensor| (length_of(tensor), is_nothing(tensor))).collect();
        move |grad: &Tensor, needs: &[bool]| {
            let mut start = 0;
            let gradients = lengths.iter().zip(needs).map(|(&(len, is_nothing), needed)| {
                start += len;
                let part = || match is_nothing {
                    true => Tensor::zeros([0], (grad.dtype(), grad.device())),
                    false => grad.narrow(dim as isize, start - len, len),
                };
                needed.then(part).transpose()
            });
            gradients.collect()
        }
    }))
}

/// Writes tensors, converted, to where they begin along `dim` in the dense `output`.
#[track_caller]
fn write_parts<'a>(
    output: &Tensor,
    dim: usize,
    mut parts: impl Iterator<Item = CatPart<'a>>,
) -> Result<()> {
    let ResolvedDevice::Cuda(device) = output.resolved_device() else {
        return parts.try_for_each(|part| write_part(output, dim, part));
    };
    // What is copied as it is takes no launch of its own.
    let (as_is, others): (Vec<_>, Vec<_>) =
        parts.partition(|(_, part)| part.is_contiguous() && part.dtype() == output.dtype());
    others.into_iter().try_for_each(|part| write_part(output, dim, part))?;
    dispatch::join(device, output, &as_is, dim)
}

#[track_caller]
fn write_part(output: &Tensor, dim: usize, (start, part): CatPart<'_>) -> Result<()> {
    let place = output.alias(output.layout().slice(dim, start, part.shape()[dim], 1))?;
    copy_into(&place, part)
}

/// [`Tensor::stack`].
#[track_caller]
fn stacked(tensors: &[&Tensor], dim: isize) -> Result<Tensor> {
    const OP: &str = "stack";
    let first = *tensors.first().ok_or_else(|| nothing(OP))?;
    if tensors.iter().any(|tensor| tensor.shape() != first.shape()) {
        let rule = "they must be equal";
        return Err(Error::ShapeMismatch { op: OP, shapes: shapes(&named(tensors)), rule });
    }
    let layers: Result<Vec<Tensor>> = tensors.iter().map(|tensor| tensor.unsqueeze(dim)).collect();
    Tensor::cat(layers?, dim)
}

fn nothing(op: &'static str) -> Error {
    Error::InvalidArgument {
        op,
        argument: "tensors",
        value: "[]".to_owned(),
        why: "there must be at least one",
    }
}

/// Whether a tensor has the shape `[0]`.
fn is_nothing(tensor: &Tensor) -> bool {
    *tensor.shape() == [0]
}

fn named<'a>(tensors: &[&'a Tensor]) -> Vec<(&'static str, &'a Tensor)> {
    let name = |position: usize| NAMES[position.min(NAMES.len() - 1)];
    tensors.iter().enumerate().map(|(position, tensor)| (name(position), *tensor)).collect()
}

fn check_sizes(op: &'static str, tensors: &[(&'static str, &Tensor)], dim: usize) -> Result<()> {
    let (_, first) = tensors[0];
    let fits = |(_, tensor): &(&str, &Tensor)| {
        first.dims() > 0
            && tensor.dims() == first.dims()
            && tensor.layout().shape().without(dim) == first.layout().shape().without(dim)
    };
    if tensors.iter().all(fits) {
        return Ok(());
    }
    let rule = "they must have dimensions, and differ in none but the one they are joined along";
    Err(Error::ShapeMismatch { op, shapes: shapes(tensors), rule })
}

fn shapes(tensors: &[(&'static str, &Tensor)]) -> Vec<(&'static str, Shape)> {
    tensors.iter().map(|(name, tensor)| (*name, tensor.layout().shape().clone())).collect()
}
